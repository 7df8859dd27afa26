// A number that the system keeps with an open file, and tells of each of its descriptors. Asking
// for it takes half as long as fstat().
#ifndef HOLDFAST_PLATFORM_FILE_MARK_H_
#define HOLDFAST_PLATFORM_FILE_MARK_H_

namespace holdfast {
inline namespace platform {

inline constexpr int kNoMark = 0;  // of every file that nobody has marked

// Marks the open file of `fd` with a number that one in kMarks of those marked by this process has.
// Returns it; kNoMark where the system does not mark files.
inline constexpr int kMarks = 64;
int MarkFile(int fd);
// The mark of the open file under `fd`; -1 with errno if the system does not tell, EBADF if there
// is no such file.
int MarkOf(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FILE_MARK_H_
