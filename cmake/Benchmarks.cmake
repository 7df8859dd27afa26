# One program for each bench/cpp/*.cc, when Google Benchmark is installed.
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/cpp/*.cc")
find_package(benchmark QUIET)

if(bench_sources AND benchmark_FOUND)
  add_custom_target(bench)
  foreach(source IN LISTS bench_sources)
    cmake_path(GET source STEM name)
    add_executable(${name}_bench EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name}_bench PRIVATE holdfast_core holdfast_warnings
                                                benchmark::benchmark_main)
    add_dependencies(bench ${name}_bench)
  endforeach()
endif()
