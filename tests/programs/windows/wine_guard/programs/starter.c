/* Starts a program. "closed" starts it without standard streams and returns its exit code. "orphan" kills it while it
 * has a child, and prints how many milliseconds later the child has exited. */
#include <windows.h>
#include <tlhelp32.h>
#include <stdio.h>
#include <string.h>

/* Windows reuses process IDs, so an unrelated process can name this one as its parent. The guard's child is a second
 * instance of the program. */
static DWORD child_of(DWORD parent, const char *program) {
    PROCESSENTRY32 entry = {.dwSize = sizeof entry};
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    DWORD child = 0;
    for (BOOL more = Process32First(snapshot, &entry); more; more = Process32Next(snapshot, &entry))
        if (entry.th32ParentProcessID == parent && strstr(program, entry.szExeFile))
            child = entry.th32ProcessID;
    CloseHandle(snapshot);
    return child;
}

int main(int count, char **words) {
    char line[4096] = "";
    for (int i = 2; i < count; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "\"%s\" ", words[i]);
    int closed = strcmp(words[1], "closed") == 0;
    STARTUPINFOA start = {.cb = sizeof start, .dwFlags = closed ? STARTF_USESTDHANDLES : 0};
    PROCESS_INFORMATION process;
    if (!CreateProcessA(NULL, line, NULL, NULL, !closed, closed ? DETACHED_PROCESS : 0, NULL, NULL, &start, &process))
        return 1;
    DWORD code = 0, child = 0;
    if (closed) {
        WaitForSingleObject(process.hProcess, INFINITE);
        GetExitCodeProcess(process.hProcess, &code);
        return (int)code;
    }
    for (int i = 0; i < 2000 && child == 0; i++, Sleep(10))
        child = child_of(process.dwProcessId, words[2]);
    HANDLE handle = OpenProcess(SYNCHRONIZE | PROCESS_TERMINATE, FALSE, child);
    /* Gives the child time to reach the call that hangs. */
    Sleep(1000);
    if (handle == NULL || WaitForSingleObject(handle, 0) != WAIT_TIMEOUT)
        return 2;
    DWORD killed = GetTickCount();
    TerminateProcess(process.hProcess, 9);
    if (WaitForSingleObject(handle, 10000) != WAIT_OBJECT_0) {
        TerminateProcess(handle, 9);
        return 3;
    }
    printf("%lu\n", GetTickCount() - killed);
    return 0;
}
