/* Loads the DLLs in its arguments, calls the guard in the first one, and prints the CUDA and cuDNN libraries that are
 * then in the process. Each start appends a letter to the file in HOST_STARTS. */
#include <windows.h>
#include <psapi.h>
#include <stdio.h>

int main(int count, char **words) {
    FILE *starts = fopen(getenv("HOST_STARTS"), "a");
    fputc('x', starts);
    fclose(starts);
    for (int i = 2; i < count; i++)
        if (LoadLibraryA(words[i]) == NULL)
            return 2;
    HMODULE guard = LoadLibraryA(words[1]), modules[256];
    if (guard == NULL)
        return 1;
    const char *(*check)(void) = (const char *(*)(void))GetProcAddress(guard, "guard_check");
    printf("%s\n", check());
    DWORD size;
    K32EnumProcessModules(GetCurrentProcess(), modules, sizeof modules, &size);
    for (DWORD i = 0; i < size / sizeof *modules; i++) {
        char name[MAX_PATH];
        K32GetModuleBaseNameA(GetCurrentProcess(), modules[i], name, sizeof name);
        if (strncmp(name, "cud", 3) == 0 || strncmp(name, "nvcuda", 6) == 0)
            printf("%s ", name);
    }
    printf("\n");
    return 0;
}
