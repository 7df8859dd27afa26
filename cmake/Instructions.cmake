# instruction_paths: the program whose instructions scripts/test/instructions.js counts.
add_executable(instruction_paths EXCLUDE_FROM_ALL
               "${PROJECT_SOURCE_DIR}/bench/instructions/paths.cc")
target_compile_options(instruction_paths PRIVATE -fno-exceptions)
target_link_libraries(instruction_paths PRIVATE holdfast_core holdfast_warnings)
