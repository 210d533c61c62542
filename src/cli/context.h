// The context of every command of `paravane`: the daemon's socket, the output format, and the
// functions that report errors. The exit statuses are listed in the man page paravane(1).
//
// This program has one thread.

#pragma once

#include <array>
#include <string>
#include <string_view>

#include "api/api_client.h"
#include "text/text_table.h"

namespace paravane::cli {

// The names under which this program can be started.
inline constexpr std::string_view kParavane = "paravane";
inline constexpr std::string_view kEsxcli = "esxcli";
inline constexpr std::string_view kEsxcfgNics = "esxcfg-nics";
inline constexpr std::string_view kEsxcfgVmknic = "esxcfg-vmknic";
inline constexpr std::string_view kEsxcfgModule = "esxcfg-module";
inline constexpr std::string_view kVicfgModule = "vicfg-module";
inline constexpr std::string_view kVmkloadMod = "vmkload_mod";
inline constexpr std::string_view kEsxcfgAdvcfg = "esxcfg-advcfg";
inline constexpr std::string_view kConnectxPortConfig = "connectx_port_config";
inline constexpr std::string_view kMgmtMlx = "mgmt-mlx";
inline constexpr std::string_view kEsxcfgMpath = "esxcfg-mpath";
inline constexpr std::string_view kEsxcfgRescan = "esxcfg-rescan";
inline constexpr std::string_view kEsxcfgScsidevs = "esxcfg-scsidevs";
inline constexpr std::string_view kIbstat = "ibstat";
// Those that are not paravane itself.
inline constexpr std::array kSecondNames = {kEsxcli,       kEsxcfgNics,         kEsxcfgVmknic,
                                            kEsxcfgModule, kVicfgModule,        kVmkloadMod,
                                            kEsxcfgAdvcfg, kConnectxPortConfig, kMgmtMlx,
                                            kEsxcfgMpath,  kEsxcfgRescan,       kEsxcfgScsidevs,
                                            kIbstat};

enum class ExitStatus : int {
  kOk = 0,
  kFailed = 1,       // the daemon refused the request, or the command failed
  kUsage = 2,        // the command line was wrong
  kUnreachable = 3,  // no daemon answers at the socket
  kAttached = 4,     // refused because VMMs are attached to VMs; --force overrides this
  // Of `infiniband run`, as of a shell: the program cannot be executed, or was not found.
  kCannotExecute = 126,
  kNoProgram = 127,
};

struct Context {
  std::string socket = api::kDefaultApiSocket;
  text::TableFormat format = text::TableFormat::kTable;

  api::ApiClient client() const;
};

// The name under which this program was started. Messages begin with it. It is one of kSecondNames,
// and "paravane" in all other cases.
std::string_view program_name();

// Sets how report(), report_failure() and report_usage() print errors from now on, which is as text
// or as one line of JSON in the format of the API, {"error": {"code", "message", "remedy"}}.
void report_as_json(bool as_json);

// If a table is empty, prints `note` to stderr, which tells the user what that means and what to
// do. Prints nothing in other formats.
void note_empty(bool empty, std::string_view note, const Context& context);

// Prints "paravane: what: why" and the remedy to stderr, without control characters. Returns the
// exit status of the program.
ExitStatus report(const model::ApiError& refused, const api::ApiClient& client);
// The same for errors that the command itself detects.
ExitStatus report_failure(std::string_view problem, std::string_view remedy);
ExitStatus report_usage(std::string_view problem, std::string_view remedy = {});

}  // namespace paravane::cli
