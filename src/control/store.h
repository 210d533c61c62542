// Store: what survives a restart of the daemon, in one SQLite file.
//
// Every change is a transaction that is on disk when commit() returns. A change
// that cannot be written leaves everything as it was. The schema has a version;
// a file of a newer program is refused, an older one is brought up to date.
//
// Owner thread only.

#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "control/api_error.h"
#include "control/vm.h"

struct sqlite3;

namespace paravane::control {

inline constexpr int kStoreVersion = 2;

class Store {
 public:
  // Makes the file when there is none; its directory must exist.
  // Errors: kNoSpace, kStore (cannot be opened, damaged, of a newer version).
  static ApiResult<std::unique_ptr<Store>> open(const std::filesystem::path& file);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // In the order of names. Errors: kStore.
  ApiResult<std::vector<VmSpec>> vms();

  // A change that is not committed is undone when the transaction goes.
  class Transaction {
   public:
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    // REQUIRES: each adapter's mac. Errors: kExists, kMacInUse, kNoSpace, kStore.
    ApiResult<void> insert(const VmSpec& spec);
    // Instead of the VM of this name. Errors: kNotFound, and as insert().
    ApiResult<void> replace(const VmSpec& spec);
    // Errors: kNotFound, kNoSpace, kStore.
    ApiResult<void> remove(const std::string& name);
    // Errors: kNoSpace, kStore; then nothing was changed.
    ApiResult<void> commit();

   private:
    friend class Store;
    explicit Transaction(Store& store) : store_(&store) {}
    ApiResult<void> insert_mac(const std::string& vm, const std::string& mac);
    Store* store_;  // null: over
  };
  // One at a time. Errors: kNoSpace, kStore.
  ApiResult<Transaction> begin();

 private:
  explicit Store(std::filesystem::path file) : file_(std::move(file)) {}
  ApiResult<void> connect();
  ApiResult<void> prepare_schema();
  ApiResult<void> execute(const char* sql);
  ApiError failure(const char* what) const;
  // The last statement failed for a key that exists.
  bool is_there_already() const;

  class Statement;
  std::filesystem::path file_;
  sqlite3* db_ = nullptr;
};

}  // namespace paravane::control
