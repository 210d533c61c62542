// PowerCutDisk: a disk that may lose power at any moment. SQLite writes through it; it tracks
// which data has been synced and which has not, and produces every state that the files may have
// if the power fails now.
//
// Not yet durable: each write, each truncation, and each name that was created or removed in the
// directory, until the file or the directory is synced. As in the unix VFS, the first sync of a
// new journal also syncs the directory, and so does a removal that asks for it.

#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paravane::store {

class PowerCutDisk {
 public:
  using Bytes = std::vector<std::byte>;
  using Files = std::map<std::string, Bytes>;  // by name

  // SQLite's default VFS while it lives, for files in `directory`; others are as always.
  explicit PowerCutDisk(std::filesystem::path directory)
      : directory_(std::move(directory)), real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    vfs_.zName = "power-cut";
    vfs_.szOsFile = static_cast<int>(sizeof(OpenFile)) + real_->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = &PowerCutDisk::open;
    vfs_.xDelete = &PowerCutDisk::remove;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~PowerCutDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }
  PowerCutDisk(const PowerCutDisk&) = delete;
  PowerCutDisk& operator=(const PowerCutDisk&) = delete;

  // After each change of a file or of the directory, and after each sync.
  void watch(std::function<void()> look) { look_ = std::move(look); }

  // Of what is in doubt: all of it, nothing, all but one, only one.
  std::vector<Files> after_power_cut() const {
    std::vector<Files> ways{build([](std::size_t) { return true; }),
                            build([](std::size_t) { return false; })};
    for (std::size_t one = 0; one < doubts_.size(); ++one) {
      ways.push_back(build([one](std::size_t i) { return i != one; }));
      ways.push_back(build([one](std::size_t i) { return i == one; }));
    }
    return ways;
  }

 private:
  // A file has a number, since its name may be given again.
  struct Doubt {
    enum class Kind : std::uint8_t { kWrite, kTruncate, kCreate, kRemove } kind;
    std::string name;  // of kCreate and kRemove
    int file = 0;      // of all but kRemove
    std::size_t offset = 0;
    Bytes bytes{};
  };
  struct OpenFile {
    sqlite3_file base;
    PowerCutDisk* disk;  // null: a file of elsewhere
    int number;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  using Names = std::map<std::string, int>;
  using Contents = std::map<int, Bytes>;

  static bool is_of_directory(const Doubt& doubt) {
    return doubt.kind == Doubt::Kind::kCreate || doubt.kind == Doubt::Kind::kRemove;
  }

  static void apply(const Doubt& doubt, Names& names, Contents& contents) {
    switch (doubt.kind) {
      case Doubt::Kind::kWrite: {
        Bytes& bytes = contents[doubt.file];
        bytes.resize(std::max(bytes.size(), doubt.offset + doubt.bytes.size()));
        std::ranges::copy(doubt.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(doubt.offset));
        break;
      }
      case Doubt::Kind::kTruncate: contents[doubt.file].resize(doubt.offset); break;
      case Doubt::Kind::kCreate: names[doubt.name] = doubt.file; break;
      case Doubt::Kind::kRemove: names.erase(doubt.name); break;
    }
  }

  template <typename Keep>
  Files build(Keep keep) const {
    Names names = synced_names_;
    Contents contents = synced_contents_;
    for (std::size_t i = 0; i < doubts_.size(); ++i) {
      if (keep(i)) apply(doubts_[i], names, contents);
    }
    Files files;
    for (const auto& [name, number] : names) files[name] = contents[number];
    return files;
  }

  void change(Doubt doubt) {
    doubts_.push_back(std::move(doubt));
    look();
  }
  template <typename Which>
  void sync(Which which) {
    std::erase_if(doubts_, [&](const Doubt& doubt) {
      if (!which(doubt)) return false;
      apply(doubt, synced_names_, synced_contents_);
      return true;
    });
  }
  void look() const {
    if (look_) look_();
  }
  bool has(const std::filesystem::path& path) const { return path.parent_path() == directory_; }

  static PowerCutDisk& of(sqlite3_vfs* vfs) { return *static_cast<PowerCutDisk*>(vfs->pAppData); }
  static OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* opened, int flags, int* out) {
    PowerCutDisk& disk = of(vfs);
    OpenFile& file = of(opened);
    const bool ours = path != nullptr && disk.has(path);
    const bool is_new = ours && !std::filesystem::exists(path);
    file.base.pMethods = nullptr;
    const int result = disk.real_->xOpen(disk.real_, path, file.real(), flags, out);
    if (result != SQLITE_OK) return result;
    file.base.pMethods = methods();
    file.disk = ours ? &disk : nullptr;
    file.number = 0;
    if (!ours) return result;
    const std::string name = std::filesystem::path(path).filename().string();
    if (is_new) disk.names_[name] = ++disk.last_file_;
    file.number = disk.names_[name];
    if (is_new) {
      disk.change({.kind = Doubt::Kind::kCreate, .name = name, .file = file.number});
    }
    return result;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
    PowerCutDisk& disk = of(vfs);
    const int result = disk.real_->xDelete(disk.real_, path, sync_directory);
    if (result != SQLITE_OK || !disk.has(path)) return result;
    const std::string name = std::filesystem::path(path).filename().string();
    disk.names_.erase(name);
    disk.change({.kind = Doubt::Kind::kRemove, .name = name});
    if (sync_directory != 0) disk.sync(is_of_directory);
    disk.look();
    return result;
  }

  static int write(sqlite3_file* opened, const void* bytes, int size, sqlite3_int64 offset) {
    OpenFile& file = of(opened);
    const int result = file.real()->pMethods->xWrite(file.real(), bytes, size, offset);
    if (result != SQLITE_OK || file.disk == nullptr) return result;
    const auto* first = static_cast<const std::byte*>(bytes);
    file.disk->change({.kind = Doubt::Kind::kWrite,
                       .name = {},
                       .file = file.number,
                       .offset = static_cast<std::size_t>(offset),
                       .bytes = Bytes(first, first + size)});
    return result;
  }

  static int truncate(sqlite3_file* opened, sqlite3_int64 size) {
    OpenFile& file = of(opened);
    const int result = file.real()->pMethods->xTruncate(file.real(), size);
    if (result != SQLITE_OK || file.disk == nullptr) return result;
    file.disk->change({.kind = Doubt::Kind::kTruncate,
                       .name = {},
                       .file = file.number,
                       .offset = static_cast<std::size_t>(size)});
    return result;
  }

  static int sync(sqlite3_file* opened, int flags) {
    OpenFile& file = of(opened);
    const int result = file.real()->pMethods->xSync(file.real(), flags);
    if (result != SQLITE_OK || file.disk == nullptr) return result;
    PowerCutDisk& disk = *file.disk;
    disk.sync([&file](const Doubt& doubt) {
      return !is_of_directory(doubt) && doubt.file == file.number;
    });
    const auto is_journal = [&file](const auto& name) {
      return name.second == file.number && name.first.ends_with("-journal");
    };
    if (std::ranges::any_of(disk.names_, is_journal)) disk.sync(is_of_directory);
    disk.look();
    return result;
  }

  // All others are the real file's.
  template <auto kMember, typename... Args>
  static int pass(sqlite3_file* opened, Args... args) {
    sqlite3_file* real = of(opened).real();
    return (real->pMethods->*kMember)(real, args...);
  }

  static const sqlite3_io_methods* methods() {
    using M = sqlite3_io_methods;
    static const M kMethods = [] {
      M all{};
      all.iVersion = 1;
      all.xClose = &pass<&M::xClose>;
      all.xRead = &pass<&M::xRead, void*, int, sqlite3_int64>;
      all.xWrite = &write;
      all.xTruncate = &truncate;
      all.xSync = &sync;
      all.xFileSize = &pass<&M::xFileSize, sqlite3_int64*>;
      all.xLock = &pass<&M::xLock, int>;
      all.xUnlock = &pass<&M::xUnlock, int>;
      all.xCheckReservedLock = &pass<&M::xCheckReservedLock, int*>;
      all.xFileControl = &pass<&M::xFileControl, int, void*>;
      all.xSectorSize = &pass<&M::xSectorSize>;
      all.xDeviceCharacteristics = &pass<&M::xDeviceCharacteristics>;
      return all;
    }();
    return &kMethods;
  }

  const std::filesystem::path directory_;
  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_;
  std::function<void()> look_;
  int last_file_ = 0;
  Names names_;  // as programs see them now
  Names synced_names_;
  Contents synced_contents_;
  std::vector<Doubt> doubts_;
};

}  // namespace paravane::store
