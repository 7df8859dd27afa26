# holdfast_warnings: what every target of this project is compiled with. Warnings are errors.
add_library(holdfast_warnings INTERFACE)
target_compile_options(
  holdfast_warnings
  INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror
            $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>)
