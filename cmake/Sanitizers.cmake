# HOLDFAST_SANITIZE: what the whole build is instrumented with, as clang's -fsanitize= takes it.
set(HOLDFAST_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

if(HOLDFAST_SANITIZE)
  add_compile_options(-fsanitize=${HOLDFAST_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOLDFAST_SANITIZE})
endif()

# Older ThreadSanitizer runtimes cannot place their shadow when the kernel randomises many address
# bits; `setarch -R` runs the tests without that.
if(HOLDFAST_SANITIZE MATCHES "thread")
  find_program(HOLDFAST_SETARCH setarch REQUIRED)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${HOLDFAST_SETARCH};-R")
endif()
