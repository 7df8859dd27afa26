// A segment for tests that need a file and no lock table.
#ifndef HOLDFAST_TEST_CPP_PLATFORM_TEST_SEGMENT_H_
#define HOLDFAST_TEST_CPP_PLATFORM_TEST_SEGMENT_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "platform/bucket_directory.h"

namespace holdfast {

inline constexpr uint64_t kTestCapacity = uint64_t{256} << 10;
inline constexpr uint64_t kTestFixedBytes = uint64_t{16} << 10;
inline constexpr const char* kTestMark = "made by a test";

inline BucketDirectory::SegmentInit TestInit(uint64_t capacity = kTestCapacity) {
  return {
      .capacity = capacity,
      .fixed_bytes = [](uint64_t) { return kTestFixedBytes; },
      .has_other_layout = [](const void*) { return false; },
      .initialize = [](void* base, uint64_t) { std::strcpy(static_cast<char*>(base), kTestMark); }};
}

// The bucket "bucket" in `directory`, which has to be possible.
inline BucketDirectory OpenBucket(const std::string& directory) {
  Result<BucketDirectory> bucket = BucketDirectory::Open(directory, "bucket");
  return *std::move(bucket);
}

}  // namespace holdfast

#endif  // HOLDFAST_TEST_CPP_PLATFORM_TEST_SEGMENT_H_
