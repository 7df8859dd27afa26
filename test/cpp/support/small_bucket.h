// How tests of the real platform attach to a bucket: as small as can be, and without the sweep.
#ifndef HOLDFAST_TEST_SUPPORT_SMALL_BUCKET_H_
#define HOLDFAST_TEST_SUPPORT_SMALL_BUCKET_H_

#include "core/attachment.h"
#include "support/test_directory.h"

namespace holdfast::test {

inline core::AttachOptions SmallBucketIn(const TestDirectory& directory) {
  core::AttachOptions options;
  options.directory = directory.path();
  options.bucket = "bucket";
  options.capacity = segment::kMinCapacity;
  options.sweeps = false;
  return options;
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_SMALL_BUCKET_H_
