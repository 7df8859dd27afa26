// The C++ library inside the addon can throw, which takes a whole unwinder with it (libunwind). The
// addon is compiled without exceptions, so nothing catches: what is thrown, because memory has run
// out, ends the process. This does the same without an unwinder.

#include <stdlib.h>

#define NEVER(name) \
  void name(void) { abort(); }

NEVER(_Unwind_RaiseException)
NEVER(_Unwind_Resume)
NEVER(_Unwind_DeleteException)
NEVER(_Unwind_GetIP)
NEVER(_Unwind_SetIP)
NEVER(_Unwind_SetGR)
NEVER(_Unwind_GetRegionStart)
NEVER(_Unwind_GetLanguageSpecificData)
