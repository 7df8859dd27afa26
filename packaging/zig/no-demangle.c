// Replaces the demangler of libc++abi, a tenth of the binary. This demangler would only print the
// type of an uncaught exception, and the addon is compiled without exceptions.
#include <stddef.h>

char* __cxa_demangle(const char* name, char* buffer, size_t* length, int* status) {
  enum { kNoMangledName = -2 };
  (void)name;
  (void)buffer;
  (void)length;
  if (status != NULL) *status = kNoMangledName;
  return NULL;
}
