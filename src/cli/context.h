// What every command of paravane works with: where the daemon is, how to print,
// and how to say that something failed. Exit statuses are those of paravane(1).

#pragma once

#include <string>
#include <string_view>

#include "api/api_client.h"
#include "text/text_table.h"

namespace paravane::cli {

// What this program may be called as.
inline constexpr std::string_view kParavane = "paravane";
inline constexpr std::string_view kEsxcli = "esxcli";
inline constexpr std::string_view kEsxcfgNics = "esxcfg-nics";
inline constexpr std::string_view kEsxcfgVmknic = "esxcfg-vmknic";

enum class ExitStatus : int {
  kOk = 0,
  kFailed = 1,       // the daemon refused, or it could not be done
  kUsage = 2,        // the command line was wrong
  kUnreachable = 3,  // no daemon answers at the socket
  kAttached = 4,     // refused because VMs are attached; --force does it
};

struct Context {
  std::string socket = api::kDefaultApiSocket;
  text::TableFormat format = text::TableFormat::kTable;

  api::ApiClient client() const;
};

// What this program was called as, which messages begin with: "esxcli", "esxcfg-nics",
// "esxcfg-vmknic", and "paravane" in all other cases.
std::string_view program_name();

// How report() and its kind print from now on: as text, or as {"error": {"code", "message",
// "remedy"}} in a line of its own, as the API has it. This program has one thread.
void report_as_json(bool as_json);

// What an empty table means and what to do, on stderr; nothing in other formats.
void note_empty(bool empty, std::string_view note, const Context& context);

// Prints "paravane: what: why" and the remedy to stderr, printable; the status to end with.
ExitStatus report(const model::ApiError& refused, const api::ApiClient& client);
// The same for what a command finds out by itself.
ExitStatus report_failure(std::string_view problem, std::string_view remedy);
ExitStatus report_usage(std::string_view problem, std::string_view remedy = {});

}  // namespace paravane::cli
