#include "support/test_directory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace holdfast {

namespace fs = std::filesystem;

TestDirectory::TestDirectory(const std::string& parent) : path_(parent + "/holdfast-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace holdfast
