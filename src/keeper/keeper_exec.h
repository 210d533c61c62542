// The keeper is replaced by another program in the same process: with its number, its children, its
// environment and its rights, which depend on the same things as when it was started. What it knows
// goes on as a KeeperRecord in a sealed file, with the descriptors that are named there.
//
// Until execve() has succeeded nothing is changed. The program that comes may still find that it
// cannot read the record. It then executes the program that was there before, with the same record,
// and so that one goes on. Only a program that ends before it has decided takes the daemon with it.
//
// One thread. Calls do not block.

#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/keeper_record.h"

namespace paravane::keeper {

// What the program that comes is told on its command line.
struct KeeperWords {
  int record = -1;        // --keeper-record: the descriptor of the sealed file; -1: none
  int before = -1;        // --keeper-before: of the program before it
  std::string refused{};  // --keeper-refused: why the program after this one has refused the record
};

// `program`: the file, open with O_PATH. Returns only if it fails, and then nothing has changed.
// Errors: kIo; kInvalidArgument (the record has what none may have).
Error replace_keeper(const UniqueFd& program, const KeeperRecord& record);

// ---- In the program that comes ----

// Everything in the record is there: children of this process, and descriptors of their kinds.
// Changes nothing. Errors: kInvalidArgument, kIo.
Result<KeeperRecord> open_keeper_record(const KeeperWords& words);

// The record is this process's from now on, and no program that it executes gets a descriptor.
void accept_keeper_record(const KeeperWords& words);

// Executes the program before this one, which goes on. Returns only if it fails. Errors: kIo.
Error return_to_keeper(const KeeperWords& words, const std::string& cause);

}  // namespace paravane::keeper
