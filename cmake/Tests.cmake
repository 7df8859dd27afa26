# One test program for each folder below test/cpp that holds *_test.cc files. The other *.cc files
# of a folder are its helpers; those of test/cpp/support are linked into every test program. All of
# them share one precompiled header of what nearly every test includes: the headers of GoogleTest
# take longer to compile than most tests.
if(HOLDFAST_GTEST_SOURCE)
  # For another processor or C library than this machine's: built with the tests.
  set(INSTALL_GTEST OFF)
  add_subdirectory("${HOLDFAST_GTEST_SOURCE}" "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
else()
  find_package(GTest REQUIRED)
endif()
include(GoogleTest)

set(test_root "${PROJECT_SOURCE_DIR}/test/cpp")
# It reads a table that a test in JavaScript reads, too.
set_source_files_properties(
  "${test_root}/core/biased_transitions_test.cc"
  PROPERTIES COMPILE_DEFINITIONS
             "HOLDFAST_BIASED_TRANSITIONS=\"${PROJECT_SOURCE_DIR}/test/support/biased-transitions.txt\"")
file(GLOB support_sources CONFIGURE_DEPENDS "${test_root}/support/*.cc")
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${test_root}/*_test.cc")

add_library(holdfast_test_support STATIC ${support_sources})
target_include_directories(holdfast_test_support PUBLIC "${test_root}")
target_link_libraries(holdfast_test_support PUBLIC holdfast_core_checked holdfast_warnings
                                                   GTest::gmock GTest::gtest_main)
# As programs are compiled: a precompiled header fits nothing else.
set_target_properties(holdfast_test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF)
# Most of the time of a build goes to tests. The core that they call is optimised as ever.
target_compile_options(
  holdfast_test_support
  PUBLIC $<$<CONFIG:RelWithDebInfo>:-O1>
  PRIVATE -fPIE)
target_precompile_headers(holdfast_test_support PRIVATE <gmock/gmock.h> <gtest/gtest.h>)

set(test_folders)
foreach(source IN LISTS test_sources)
  cmake_path(GET source PARENT_PATH folder)
  list(APPEND test_folders "${folder}")
endforeach()
list(REMOVE_DUPLICATES test_folders)

# CTest begins with what costs most: the one long test of the simulation would else be the last.
set(long_tests simulation_test)

foreach(folder IN LISTS test_folders)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${test_root}" OUTPUT_VARIABLE name)
  string(REPLACE "/" "_" name "${name}_test")
  file(GLOB folder_sources CONFIGURE_DEPENDS "${folder}/*.cc")

  add_executable(${name} ${folder_sources})
  target_link_libraries(${name} PRIVATE holdfast_test_support)
  target_precompile_headers(${name} REUSE_FROM holdfast_test_support)
  set(cost 0)
  if(name IN_LIST long_tests)
    set(cost 1)
  endif()
  # The time-out is a watchdog. Tests are listed when they run: building stays free of running.
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 300 COST ${cost})
endforeach()
