// In the place of libc++abi's, which has a tenth of the binary: it would only write the type of an
// exception that nobody catches as a person does, and the addon is compiled without exceptions.
#include <stddef.h>

char* __cxa_demangle(const char* name, char* buffer, size_t* length, int* status) {
  enum { kNoMangledName = -2 };
  (void)name;
  (void)buffer;
  (void)length;
  if (status != NULL) *status = kNoMangledName;
  return NULL;
}
