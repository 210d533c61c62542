// CheckRow is the result of one check that is made before a VM is powered on. If a requirement is
// not met, the result includes a command that fixes the problem. CheckRows collects these results.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paravane::model {

enum class Verdict : std::uint8_t {
  kOk,
  kWarning,  // the VM can run, but a part of it may not work
  kFailed,   // a requirement is not met
};
std::string_view to_string(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);

struct CheckRow {
  std::string check;
  Verdict verdict = Verdict::kOk;
  std::string found;
  std::string cure{};        // a command line; empty: nothing needs to be done
  bool stops_start = false;  // the VM would not start, or may not

  friend bool operator==(const CheckRow&, const CheckRow&) = default;
};

// A cure that must be run on another host ends in a comment, "# on h2", so that it can be pasted
// there unchanged.
class CheckRows {
 public:
  void ok(std::string check, std::string found) {
    add({.check = std::move(check), .found = std::move(found)});
  }
  void warn(std::string check, std::string found, std::string cure) {
    add({.check = std::move(check),
         .verdict = Verdict::kWarning,
         .found = std::move(found),
         .cure = std::move(cure)});
  }
  void fail(std::string check, std::string found, std::string cure) {
    add({.check = std::move(check),
         .verdict = Verdict::kFailed,
         .found = std::move(found),
         .cure = std::move(cure)});
  }
  // Adds a failure because of which the VM cannot be started.
  void stop(std::string check, std::string found, std::string cure) {
    fail(std::move(check), std::move(found), std::move(cure));
    rows_.back().stops_start = true;
  }
  std::vector<CheckRow> take() { return std::move(rows_); }

 private:
  void add(CheckRow row) { rows_.push_back(std::move(row)); }

  std::vector<CheckRow> rows_;
};

}  // namespace paravane::model
