#include "store/store.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/network_json.h"
#include "api/vm_json.h"
#include "json/json_text.h"
#include "store/row_sums.h"

namespace paravane::store {
namespace {

constexpr int kBusyTimeoutMs = 2000;

// Rollback journal, flushed at each commit, and the directory with it: a journal that is back
// after a power cut would undo what was acknowledged. A handful of small transactions, and
// no side files that a full disk could leave half written, nor any in other directories.
constexpr const char* kSetUp =
    "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON; PRAGMA "
    "temp_store=MEMORY;";

// A MAC address belongs to one adapter of one VM; all else is the VM's JSON.
constexpr const char* kMakeVmTables =
    "CREATE TABLE vm(name TEXT PRIMARY KEY NOT NULL, spec TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE adapter(mac TEXT PRIMARY KEY NOT NULL,"
    "                     vm TEXT NOT NULL REFERENCES vm(name) ON DELETE CASCADE) WITHOUT ROWID;";

// A port group has its switch; adapters name port groups in their VM's JSON, since these
// may be kept elsewhere.
constexpr const char* kMakeNetworkTables =
    "CREATE TABLE vds(name TEXT PRIMARY KEY NOT NULL, spec TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE port_group(name TEXT PRIMARY KEY NOT NULL,"
    "                        vds TEXT NOT NULL REFERENCES vds(name),"
    "                        spec TEXT NOT NULL) WITHOUT ROWID;";

// What has no rules among its rows: each kind's owner knows its JSON.
constexpr const char* kMakeDocumentTable =
    "CREATE TABLE document(kind TEXT NOT NULL, name TEXT NOT NULL, json TEXT NOT NULL,"
    "                      PRIMARY KEY(kind, name)) WITHOUT ROWID;";

// Schema 1 had one adapter per VM, and its address beside the name.
constexpr const char* kSetOldAside = "ALTER TABLE vm RENAME TO vm1;";
constexpr const char* kTakeOver =
    "INSERT INTO vm SELECT name, spec FROM vm1;"
    "INSERT INTO adapter SELECT mac, name FROM vm1;"
    "DROP TABLE vm1;";

// What brings a file of each schema up to date; 0: an empty file.
std::string steps_from(int version) {
  std::string steps;
  if (version == 1) steps += kSetOldAside;
  if (version <= 1) steps += kMakeVmTables;
  if (version == 1) steps += kTakeOver;
  if (version <= 2) steps += kMakeNetworkTables;
  if (version <= 3) steps += kMakeDocumentTable;
  return steps;
}

}  // namespace

// One prepared statement; finalized when it goes.
class Store::Statement {
 public:
  Statement(Store& store, std::string_view sql) {
    result_ = sqlite3_prepare_v2(store.db_, sql.data(), static_cast<int>(sql.size()), &statement_,
                                 nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, const std::string& text) {
    if (result_ != SQLITE_OK) return;
    result_ = sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT);
  }
  // SQLITE_ROW, SQLITE_DONE, or an error.
  int step() { return result_ == SQLITE_OK ? sqlite3_step(statement_) : result_; }
  std::string_view column(int index) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, index));
    return {text == nullptr ? "" : text,
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, index))};
  }
  int column_int(int index) const { return sqlite3_column_int(statement_, index); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int result_ = SQLITE_OK;
};

model::ApiError Store::failure(const char* what) const {
  const int code = sqlite3_errcode(db_) & 0xFF;
  const int system_error = sqlite3_system_errno(db_);
  const std::string directory = file_.parent_path().string();
  if (code == SQLITE_FULL || (code == SQLITE_IOERR && system_error == ENOSPC)) {
    return {
        .code = model::ApiErrorCode::kNoSpace,
        .message = fmt::format("cannot {}: no free disk space for {}", what, file_.string()),
        .remedy = fmt::format("Free space in {} and try again; nothing was changed.", directory)};
  }
  std::string cause = sqlite3_errmsg(db_);
  if (system_error != 0) cause += fmt::format(" ({})", std::strerror(system_error));
  std::string remedy = "Check that the file and its directory belong to the daemon's user.";
  if (code == SQLITE_BUSY) remedy = "Another program holds the file open: stop it and try again.";
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    remedy =
        "The file is damaged: restore it from a backup, or move it away to start with an empty "
        "state.";
  }
  return {.code = model::ApiErrorCode::kStore,
          .message = fmt::format("cannot {}: {}: {}", what, file_.string(), cause),
          .remedy = std::move(remedy)};
}

model::ApiResult<std::unique_ptr<Store>> Store::open(const std::filesystem::path& file,
                                                     StoreUse use) {
  std::unique_ptr<Store> store(new Store(file));
  if (auto connected = store->connect(); !connected) return std::unexpected(connected.error());
  if (auto ready = store->prepare_schema(use); !ready) return std::unexpected(ready.error());
  return store;
}

Store::~Store() {
  sqlite3_close(db_);
}

model::ApiResult<void> Store::connect() {
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (sqlite3_open_v2(file_.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
    return std::unexpected(failure("open the state"));
  }
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
  return execute(kSetUp);
}

void Store::allow_changes() {
  sqlite3_exec(db_, "PRAGMA query_only=OFF;", nullptr, nullptr, nullptr);
}

model::ApiResult<int> Store::schema() {
  Statement query(*this, "PRAGMA user_version");
  if (query.step() != SQLITE_ROW) return std::unexpected(failure("read the state"));
  return query.column_int(0);
}

model::ApiResult<void> Store::prepare_schema(StoreUse use) {
  const auto found = schema();
  if (!found) return std::unexpected(found.error());
  const int version = *found;
  if (use == StoreUse::kTakeOver && version != kStoreVersion) {
    return model::refuse(model::ApiErrorCode::kStore,
                         fmt::format("{} has schema {}, and this program writes schema {}",
                                     file_.string(), version, kStoreVersion),
                         "Restart paravaned to change to this release.");
  }
  if (version > kStoreVersion) {
    return model::refuse(
        model::ApiErrorCode::kStore,
        fmt::format("{} was written by a newer version (schema {}; this program supports {})",
                    file_.string(), version, kStoreVersion),
        "Install that version again, or restore an older copy of the file.");
  }
  model::ApiResult<void> made;
  if (version < kStoreVersion) {
    made = execute(fmt::format("BEGIN IMMEDIATE; {} PRAGMA user_version={}; COMMIT;",
                               steps_from(version), kStoreVersion)
                       .c_str());
  }
  const auto sums = use == StoreUse::kServe ? RowSumsIn::kFile : RowSumsIn::kConnection;
  if (made && !prepare_row_sums(db_, sums)) made = std::unexpected(failure("write the state"));
  if (made && use == StoreUse::kTakeOver) made = execute("PRAGMA query_only=ON;");
  if (!made && sqlite3_get_autocommit(db_) == 0) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  return made;
}

model::ApiResult<void> Store::execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return std::unexpected(failure("write the state"));
}

// A table of ours, or one kind of its documents.
struct Store::Rows {
  std::string row;  // as row sums and LeftOutRows have it
  std::string table;
  std::string text;      // its column with JSON
  std::string document;  // the kind of documents; empty: all rows
};

namespace {

constexpr const char* kVmRow = "vm";
constexpr const char* kSwitchRow = "vds";
constexpr const char* kPortGroupRow = "port_group";

std::string document_row(const std::string& kind) {
  return "document/" + kind;
}

// Reads a value with `read` and gives it to `add`.
template <typename T, typename Add>
Status take_value(const std::string& name, const nlohmann::json& value,
                  Result<T> (*read)(const nlohmann::json&), Add add) {
  Result<T> one = read(value);
  if (!one) return std::unexpected(one.error());
  if (one->name != name) {
    return fail(Errc::kInvalidArgument, fmt::format("its name is {}", one->name));
  }
  add(std::move(*one));
  return {};
}

Result<model::VmSpec> read_vm(const nlohmann::json& value) {
  Result<model::VmSpec> spec = api::kept_vm_spec_from_json(value);
  const auto has_mac = [](const model::AdapterSpec& one) { return one.mac.has_value(); };
  if (!spec || std::ranges::all_of(spec->adapters, has_mac)) return spec;
  return fail(Errc::kInvalidArgument, "vm: \"mac\" is missing");
}

}  // namespace

void Store::note_damage(const std::string& row, const std::string& name, std::string_view what) {
  left_out_.add(row, name, fmt::format("its record in {} {}", file_.string(), what));
}

model::ApiResult<void> Store::read_rows(const Rows& rows, const Take& take) {
  left_out_.erase_all(rows.row);
  Statement query(
      *this, fmt::format("SELECT t.name, t.{1}, s.sum FROM {0} t LEFT JOIN row_sum s"
                         " ON s.kind = ?1 AND s.name = t.name {2} ORDER BY t.name",
                         rows.table, rows.text, rows.document.empty() ? "" : "WHERE t.kind = ?2"));
  query.bind(1, rows.row);
  if (!rows.document.empty()) query.bind(2, rows.document);
  int step = query.step();
  for (; step == SQLITE_ROW; step = query.step()) {
    const std::string name(query.column(0));
    const std::string_view sum = query.column(2);
    if (!sum.empty() && sum != text_sum(query.column(1))) {
      note_damage(rows.row, name, "is damaged: its checksum does not match");
      continue;
    }
    const Result<nlohmann::json> value = parse_json(query.column(1));
    const Status taken = value ? take(name, *value) : Status(std::unexpected(value.error()));
    if (!taken) note_damage(rows.row, name, "cannot be read: " + taken.error().message);
  }
  if (step != SQLITE_DONE) return std::unexpected(failure("read the state"));
  return note_gone_rows(rows);
}

model::ApiResult<void> Store::note_gone_rows(const Rows& rows) {
  Statement query(*this, fmt::format("SELECT s.name FROM row_sum s WHERE s.kind = ?1 AND NOT EXISTS"
                                     " (SELECT 1 FROM {} t WHERE t.name = s.name {})",
                                     rows.table, rows.document.empty() ? "" : "AND t.kind = ?2"));
  query.bind(1, rows.row);
  if (!rows.document.empty()) query.bind(2, rows.document);
  int step = query.step();
  for (; step == SQLITE_ROW; step = query.step()) {
    note_damage(rows.row, std::string(query.column(0)), "is gone");
  }
  if (step != SQLITE_DONE) return std::unexpected(failure("read the state"));
  return {};
}

model::ApiResult<void> Store::erase_left_out(const model::LeftOut& one) {
  const std::string row = LeftOutRows::row_of(one.kind);
  const bool is_table = row == kVmRow || row == kSwitchRow || row == kPortGroupRow;
  auto change = begin();
  if (!change) return std::unexpected(change.error());
  const auto erase = [&](const std::string& sql, const std::string& kind) {
    Statement statement(*this, sql);
    statement.bind(1, one.name);
    if (!kind.empty()) statement.bind(2, kind);
    return statement.step() == SQLITE_DONE;
  };
  const bool erased = is_table ? erase(fmt::format("DELETE FROM {} WHERE name = ?1", row), "")
                               : erase("DELETE FROM document WHERE name = ?1 AND kind = ?2",
                                       row.substr(document_row("").size()));
  if (!erased && is_needed_or_missing()) {
    return model::refuse(
        model::ApiErrorCode::kInUse, fmt::format("switch {} has port groups", one.name),
        "List the port groups with: paravane portgroup list; see also: paravane status");
  }
  // Of a row that is gone.
  if (erased && row == kVmRow && !erase("DELETE FROM adapter WHERE vm = ?1", "")) {
    return std::unexpected(failure("write the state"));
  }
  if (!erased || !erase("DELETE FROM row_sum WHERE name = ?1 AND kind = ?2", row)) {
    return std::unexpected(failure("write the state"));
  }
  if (auto kept = change->commit(); !kept) return kept;
  left_out_.erase(row, one.name);
  return {};
}

model::ApiResult<std::vector<model::VmSpec>> Store::vms() {
  std::vector<model::VmSpec> result;
  const auto add = [&result](model::VmSpec spec) { result.push_back(std::move(spec)); };
  auto read = read_rows({.row = kVmRow, .table = "vm", .text = "spec", .document = ""},
                        [&add](const std::string& name, const nlohmann::json& value) {
                          return take_value(name, value, read_vm, add);
                        });
  if (!read) return std::unexpected(read.error());
  return result;
}

model::ApiResult<Store::Transaction> Store::begin() {
  if (auto begun = execute("BEGIN IMMEDIATE"); !begun) return std::unexpected(begun.error());
  return Transaction(*this);
}

Store::Transaction::Transaction(Transaction&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)) {}

Store::Transaction::~Transaction() {
  // Some failures (a full disk) have rolled back already.
  if (store_ != nullptr && sqlite3_get_autocommit(store_->db_) == 0) {
    sqlite3_exec(store_->db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

model::ApiResult<void> Store::Transaction::insert(const model::VmSpec& spec) {
  Statement statement(*store_, "INSERT INTO vm(name, spec) VALUES(?, ?)");
  statement.bind(1, spec.name);
  statement.bind(2, print_json(api::to_json(spec)));
  if (statement.step() != SQLITE_DONE) {
    if (!store_->is_there_already()) return std::unexpected(store_->failure("write the state"));
    return model::refuse(model::ApiErrorCode::kExists,
                         fmt::format("vm {} already exists", spec.name),
                         "Choose another name, or remove that VM first.");
  }
  for (const model::AdapterSpec& adapter : spec.adapters) {
    if (auto written = insert_mac(spec.name, model::format_mac(*adapter.mac)); !written)
      return written;
  }
  return {};
}

model::ApiResult<void> Store::Transaction::insert_mac(const std::string& vm,
                                                      const std::string& mac) {
  Statement statement(*store_, "INSERT INTO adapter(mac, vm) VALUES(?, ?)");
  statement.bind(1, mac);
  statement.bind(2, vm);
  if (statement.step() == SQLITE_DONE) return {};
  if (!store_->is_there_already()) return std::unexpected(store_->failure("write the state"));
  return model::refuse(model::ApiErrorCode::kMacInUse,
                       fmt::format("MAC address {} belongs to another VM", mac),
                       "Choose another address, or omit it to let the daemon choose one.");
}

bool Store::is_there_already() const {
  return sqlite3_extended_errcode(db_) == SQLITE_CONSTRAINT_PRIMARYKEY;
}

bool Store::is_needed_or_missing() const {
  return sqlite3_extended_errcode(db_) == SQLITE_CONSTRAINT_FOREIGNKEY;
}

model::ApiResult<void> Store::Transaction::replace(const model::VmSpec& spec) {
  auto removed = remove(spec.name);
  return removed ? insert(spec) : removed;
}

model::ApiResult<void> Store::Transaction::remove(const std::string& name) {
  Statement statement(*store_, "DELETE FROM vm WHERE name = ?");
  statement.bind(1, name);
  if (statement.step() != SQLITE_DONE) return std::unexpected(store_->failure("write the state"));
  if (sqlite3_changes(store_->db_) != 0) return {};
  return model::refuse(model::ApiErrorCode::kNotFound, fmt::format("vm {} does not exist", name),
                       "List the VMs with: paravane vm list");
}

model::ApiResult<void> Store::Transaction::commit() {
  auto done = store_->execute("COMMIT");
  if (done) store_ = nullptr;
  return done;
}

model::ApiResult<model::Network> Store::read_network() {
  model::Network network;
  auto read = read_rows({.row = kSwitchRow, .table = "vds", .text = "spec", .document = ""},
                        [&network](const std::string& name, const nlohmann::json& value) {
                          return take_value(name, value, api::kept_switch_from_json,
                                            [&](model::DistributedSwitch vds) {
                                              network.switches[name] = std::move(vds);
                                            });
                        });
  if (!read) return std::unexpected(read.error());
  read = read_rows({.row = kPortGroupRow, .table = "port_group", .text = "spec", .document = ""},
                   [&network](const std::string& name, const nlohmann::json& value) {
                     return take_value(name, value, api::kept_port_group_from_json,
                                       [&](model::PortGroup group) {
                                         network.port_groups[name] = std::move(group);
                                       });
                   });
  if (!read) return std::unexpected(read.error());
  std::erase_if(network.port_groups, [&](const auto& entry) {
    const auto& [name, group] = entry;
    if (network.switches.contains(group.vds)) return false;
    left_out_.add(kPortGroupRow, name, fmt::format("its switch {} is unusable", group.vds));
    return true;
  });
  return network;
}

model::ApiResult<void> Store::put_switch(const model::DistributedSwitch& vds) {
  Statement statement(*this,
                      "INSERT INTO vds(name, spec) VALUES(?1, ?2)"
                      " ON CONFLICT(name) DO UPDATE SET spec = ?2");
  statement.bind(1, vds.name);
  statement.bind(2, print_json(api::to_json(vds)));
  if (statement.step() != SQLITE_DONE) return std::unexpected(failure("write the state"));
  left_out_.erase(kSwitchRow, vds.name);
  return {};
}

model::ApiResult<void> Store::erase_switch(const std::string& name) {
  Statement statement(*this, "DELETE FROM vds WHERE name = ?");
  statement.bind(1, name);
  if (statement.step() != SQLITE_DONE) {
    if (!is_needed_or_missing()) return std::unexpected(failure("write the state"));
    return model::refuse(model::ApiErrorCode::kInUse,
                         fmt::format("switch {} has port groups", name),
                         "List the port groups with: paravane portgroup list");
  }
  if (sqlite3_changes(db_) != 0) return {};
  return model::refuse(model::ApiErrorCode::kNotFound,
                       fmt::format("switch {} does not exist", name),
                       "List the switches with: paravane vds list");
}

model::ApiResult<void> Store::put_port_group(const model::PortGroup& group) {
  Statement statement(*this,
                      "INSERT INTO port_group(name, vds, spec) VALUES(?1, ?2, ?3)"
                      " ON CONFLICT(name) DO UPDATE SET vds = ?2, spec = ?3");
  statement.bind(1, group.name);
  statement.bind(2, group.vds);
  statement.bind(3, print_json(api::to_json(group)));
  if (statement.step() == SQLITE_DONE) {
    left_out_.erase(kPortGroupRow, group.name);
    return {};
  }
  if (!is_needed_or_missing()) return std::unexpected(failure("write the state"));
  return model::refuse(model::ApiErrorCode::kNotFound,
                       fmt::format("switch {} does not exist", group.vds),
                       "List the switches with: paravane vds list");
}

model::ApiResult<void> Store::erase_port_group(const std::string& name) {
  Statement statement(*this, "DELETE FROM port_group WHERE name = ?");
  statement.bind(1, name);
  if (statement.step() != SQLITE_DONE) return std::unexpected(failure("write the state"));
  if (sqlite3_changes(db_) != 0) return {};
  return model::refuse(model::ApiErrorCode::kNotFound,
                       fmt::format("port group {} does not exist", name),
                       "List the port groups with: paravane portgroup list");
}

model::ApiResult<std::map<std::string, nlohmann::json>> Store::documents(const std::string& kind) {
  std::map<std::string, nlohmann::json> result;
  auto read =
      read_rows({.row = document_row(kind), .table = "document", .text = "json", .document = kind},
                [&result](const std::string& name, const nlohmann::json& value) -> Status {
                  result[name] = value;
                  return {};
                });
  if (!read) return std::unexpected(read.error());
  return result;
}

void Store::leave_out(const std::string& kind, const std::string& name,
                      const std::string& problem) {
  note_damage(document_row(kind), name, "cannot be read: " + problem);
}

model::ApiResult<void> Store::put_document(const std::string& kind, const std::string& name,
                                           const nlohmann::json& value) {
  Statement statement(*this,
                      "INSERT INTO document(kind, name, json) VALUES(?1, ?2, ?3)"
                      " ON CONFLICT(kind, name) DO UPDATE SET json = ?3");
  statement.bind(1, kind);
  statement.bind(2, name);
  statement.bind(3, print_json(value));
  if (statement.step() != SQLITE_DONE) return std::unexpected(failure("write the state"));
  left_out_.erase(document_row(kind), name);
  return {};
}

model::ApiResult<void> Store::erase_document(const std::string& kind, const std::string& name) {
  Statement statement(*this, "DELETE FROM document WHERE kind = ? AND name = ?");
  statement.bind(1, kind);
  statement.bind(2, name);
  if (statement.step() == SQLITE_DONE) return {};
  return std::unexpected(failure("write the state"));
}

}  // namespace paravane::store
