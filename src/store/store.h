// Store keeps the state that survives a restart of the daemon, in one SQLite file.
//
// Every change is a transaction that is on disk when commit() returns. If a change cannot be
// written, the file stays as it was. The schema has a version. A file with an older version is
// upgraded, and a file with a newer version is refused.
//
// A damaged row affects only the object that it describes. The object is not used, and left_out()
// lists it. The row stays in the file until it is erased or written again.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/api_error.h"
#include "model/vm.h"
#include "store/left_out_rows.h"
#include "store/network_inventory.h"

struct sqlite3;

namespace paravane::store {

// This is the version of the whole state directory, because older programs read it before anything
// else. It increases with each release whose files an earlier release would misread. Version 5 has
// the tables of version 4, whose program (0.1.0) would report the authority's book as damaged.
inline constexpr int kStoreVersion = 5;

// What a store is opened for.
enum class StoreUse : std::uint8_t {
  kServe,     // by the engine that serves VMs
  kTakeOver,  // by one that will, after the engine that serves VMs now and has it open, too
};

class Store final : public NetworkInventory {
 public:
  // Creates the file if it does not exist; its directory must exist. Errors: kNoSpace, kStore (the
  // file cannot be opened, is damaged, or has a newer version; for kTakeOver, any other version).
  // With kTakeOver, every change fails until allow_changes().
  static model::ApiResult<std::unique_ptr<Store>> open(const std::filesystem::path& file,
                                                       StoreUse use = StoreUse::kServe);
  void allow_changes();
  ~Store() override;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // In the order of names; without those that are left out. Errors: kStore.
  model::ApiResult<std::vector<model::VmSpec>> vms();

  // ---- NetworkInventory of a standalone host. No transaction may be open. ----
  model::ApiResult<model::Network> read_network() override;
  model::ApiResult<void> put_switch(const model::DistributedSwitch& vds) override;
  model::ApiResult<void> erase_switch(const std::string& name) override;
  model::ApiResult<void> put_port_group(const model::PortGroup& group) override;
  model::ApiResult<void> erase_port_group(const std::string& name) override;
  // The damaged objects of all kinds, as found when each kind was last read.
  std::vector<model::LeftOut> left_out() const override { return left_out_.list(); }
  std::optional<model::LeftOut> find_left_out(std::string_view kind,
                                              const std::string& name) const override {
    return left_out_.find(kind, name);
  }
  model::ApiResult<void> erase_left_out(const model::LeftOut& one) override;

  // ---- Documents: JSON values that only this host uses, a few of each kind. ---- By name; without
  // those that are left out. No transaction may be open. Errors: kStore, kNoSpace.
  model::ApiResult<std::map<std::string, nlohmann::json>> documents(const std::string& kind);
  // Marks a document as damaged that only its user can recognize as invalid.
  void leave_out(const std::string& kind, const std::string& name, const std::string& problem);
  // Creates the document or replaces the one of this name.
  model::ApiResult<void> put_document(const std::string& kind, const std::string& name,
                                      const nlohmann::json& value);
  // A missing document is not an error.
  model::ApiResult<void> erase_document(const std::string& kind, const std::string& name);

  // Changes that are not committed are undone when the transaction is destroyed.
  class Transaction {
   public:
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    // REQUIRES: each adapter's mac. Errors: kExists, kMacInUse, kNoSpace, kStore.
    model::ApiResult<void> insert(const model::VmSpec& spec);
    // Replaces the VM of this name. Errors: kNotFound, and as insert().
    model::ApiResult<void> replace(const model::VmSpec& spec);
    // Errors: kNotFound, kNoSpace, kStore.
    model::ApiResult<void> remove(const std::string& name);
    // Errors: kNoSpace, kStore; then nothing was changed.
    model::ApiResult<void> commit();

   private:
    friend class Store;
    explicit Transaction(Store& store) : store_(&store) {}
    model::ApiResult<void> insert_mac(const std::string& vm, const std::string& mac);
    Store* store_;  // null: over
  };
  // One at a time. Errors: kNoSpace, kStore.
  model::ApiResult<Transaction> begin();

 private:
  explicit Store(std::filesystem::path file) : file_(std::move(file)) {}
  model::ApiResult<void> connect();
  model::ApiResult<void> prepare_schema(StoreUse use);
  model::ApiResult<int> schema();
  model::ApiResult<void> execute(const char* sql);
  struct Rows;
  using Take = std::function<Status(const std::string& name, const nlohmann::json& value)>;
  // Leaves out rows that `take` refuses, that were damaged, or that are lost.
  model::ApiResult<void> read_rows(const Rows& rows, const Take& take);
  model::ApiResult<void> note_gone_rows(const Rows& rows);
  void note_damage(const std::string& row, const std::string& name, std::string_view what);
  model::ApiError failure(const char* what) const;
  // The last statement failed for a key that exists.
  bool is_there_already() const;
  bool is_needed_or_missing() const;  // the same, for one that another row names

  class Statement;
  std::filesystem::path file_;
  LeftOutRows left_out_;
  sqlite3* db_ = nullptr;
};

}  // namespace paravane::store
