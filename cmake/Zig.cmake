# A toolchain: Zig compiles and links for HOLDFAST_ZIG_TARGET (x86_64-linux-musl). What it makes for
# musl is linked statically, so it needs no C library of the machine that runs it.
# HOLDFAST_ZIG is the program.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HOLDFAST_ZIG HOLDFAST_ZIG_TARGET)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${HOLDFAST_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER "${HOLDFAST_ZIG}" cc -target "${HOLDFAST_ZIG_TARGET}")
set(CMAKE_CXX_COMPILER "${HOLDFAST_ZIG}" c++ -target "${HOLDFAST_ZIG_TARGET}")

# CMake takes one word for the archiver.
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${HOLDFAST_ZIG}\" ar qc <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${HOLDFAST_ZIG}\" ar q <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${HOLDFAST_ZIG}\" ranlib <TARGET>")
endforeach()

# GoogleTest comes with the machine; nothing else of the machine is for another one.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)

# Zig's compiler makes none.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
