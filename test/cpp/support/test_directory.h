// A directory for one test, gone with it.
#ifndef HOLDFAST_TEST_SUPPORT_TEST_DIRECTORY_H_
#define HOLDFAST_TEST_SUPPORT_TEST_DIRECTORY_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast {

inline constexpr const char* kOnTmpfs = "/dev/shm";
inline constexpr const char* kOnDisk = "/var/tmp";

// For tests that run on both: "Tmpfs" or "Disk".
inline std::string NameOfDirectory(const testing::TestParamInfo<const char*>& place) {
  return place.param == std::string(kOnTmpfs) ? "Tmpfs" : "Disk";
}

class TestDirectory {
 public:
  explicit TestDirectory(const std::string& parent = kOnTmpfs);
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory();

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The names in a directory, sorted.
std::vector<std::string> NamesIn(const std::string& path);

}  // namespace holdfast

#endif  // HOLDFAST_TEST_SUPPORT_TEST_DIRECTORY_H_
