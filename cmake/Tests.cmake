# One test program for each folder below test/cpp that holds *_test.cc files. The other *.cc files
# of a folder are its helpers; those of test/cpp/support are linked into every test program.
find_package(GTest REQUIRED)
include(GoogleTest)

set(test_root "${PROJECT_SOURCE_DIR}/test/cpp")
file(GLOB support_sources CONFIGURE_DEPENDS "${test_root}/support/*.cc")
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${test_root}/*_test.cc")

set(test_folders)
foreach(source IN LISTS test_sources)
  cmake_path(GET source PARENT_PATH folder)
  list(APPEND test_folders "${folder}")
endforeach()
list(REMOVE_DUPLICATES test_folders)

foreach(folder IN LISTS test_folders)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${test_root}" OUTPUT_VARIABLE name)
  string(REPLACE "/" "_" name "${name}_test")
  file(GLOB folder_sources CONFIGURE_DEPENDS "${folder}/*.cc")
  list(REMOVE_ITEM folder_sources ${support_sources})

  add_executable(${name} ${folder_sources} ${support_sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/test/cpp")
  target_link_libraries(${name} PRIVATE holdfast_core_checked holdfast_warnings GTest::gmock
                                        GTest::gtest_main)
  # The time-out is a watchdog. Tests are listed when they run: building stays free of running.
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 300)
endforeach()
