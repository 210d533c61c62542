// Guest memory from a file of FUSE: its server could make us wait for ever, so it
// is refused without a question to it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "guestmem/guest_memory.h"
#include "testing/temp_dir.h"
#include "testing/test_memory.h"

namespace paravane {
namespace {

// A file system that is one file. It lets the file be opened and closed, and never
// answers anything else.
class SilentFuseFile {
 public:
  SilentFuseFile() : path_(folder_.path() / "memory"), device_(open("/dev/fuse", O_RDWR)) {
    std::ofstream(path_) << "covered";
    const std::string options =
        "fd=" + std::to_string(device_.get()) + ",rootmode=100600,user_id=0,group_id=0";
    mounted_ = device_ &&
               mount("memory", path_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (mounted_) server_ = std::thread([this] { serve(); });
  }
  ~SilentFuseFile() {
    if (!mounted_) return;
    // Ends the connection, and with it every wait for an answer and the server.
    umount2(path_.c_str(), MNT_FORCE);
    umount2(path_.c_str(), MNT_DETACH);
    server_.join();
  }
  SilentFuseFile(const SilentFuseFile&) = delete;
  SilentFuseFile& operator=(const SilentFuseFile&) = delete;

  UniqueFd open_file() const { return UniqueFd(mounted_ ? open(path_.c_str(), O_RDWR) : -1); }
  int questions() const { return questions_; }

 private:
  void serve() {
    std::array<std::byte, 65536> request{};
    while (read(device_.get(), request.data(), request.size()) > 0) {
      fuse_in_header header{};
      std::memcpy(&header, request.data(), sizeof header);
      switch (header.opcode) {
        case FUSE_INIT: answer(header, terms()); break;
        case FUSE_OPEN: answer(header, fuse_open_out{}); break;
        case FUSE_FLUSH: refuse(header); break;
        case FUSE_RELEASE: break;
        default: ++questions_;
      }
    }
  }
  static fuse_init_out terms() {
    fuse_init_out terms{};
    terms.major = FUSE_KERNEL_VERSION;
    terms.minor = FUSE_KERNEL_MINOR_VERSION;
    terms.max_write = 4096;
    terms.time_gran = 1;
    return terms;
  }
  template <typename Body>
  void answer(const fuse_in_header& to, const Body& body) const {
    struct {
      fuse_out_header header;
      Body body;
    } whole{{.len = sizeof whole, .error = 0, .unique = to.unique}, body};
    EXPECT_EQ(write(device_.get(), &whole, sizeof whole), ssize_t{sizeof whole});
  }
  void refuse(const fuse_in_header& to) const {
    const fuse_out_header none{.len = sizeof none, .error = -ENOSYS, .unique = to.unique};
    EXPECT_EQ(write(device_.get(), &none, sizeof none), ssize_t{sizeof none});
  }

  TempDir folder_;
  std::filesystem::path path_;
  UniqueFd device_;
  bool mounted_ = false;
  std::atomic<int> questions_{0};
  std::thread server_;
};

TEST(MemoryFileFuse, IsRefusedWithoutWaitingForItsServer) {
  SilentFuseFile fuse;
  UniqueFd file = fuse.open_file();
  ASSERT_TRUE(file) << "mounting FUSE needs root: " << std::strerror(errno);
  GuestMemory memory;
  const Status status =
      memory.map(std::move(file), 0, TestMemory::kBase, kPageBytes, Rights::kReadWrite);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Errc::kUnsupported);
  EXPECT_EQ(fuse.questions(), 0);
}

}  // namespace
}  // namespace paravane
