// A directory for the buckets of one test, gone with it.
#ifndef HOLDFAST_TEST_STORM_STORM_DIRECTORY_H_
#define HOLDFAST_TEST_STORM_STORM_DIRECTORY_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace holdfast::test {

class StormDirectory {
 public:
  StormDirectory() : path_("/dev/shm/holdfast-storm-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~StormDirectory() { std::filesystem::remove_all(path_); }
  StormDirectory(const StormDirectory&) = delete;
  StormDirectory& operator=(const StormDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STORM_STORM_DIRECTORY_H_
