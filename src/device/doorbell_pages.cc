#include "device/doorbell_pages.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace paravane::device {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::unexpected<Error> io_error(std::string_view what) {
  return fail_by_system(Errc::kIo, fmt::format("doorbell pages: {}", what), errno);
}

}  // namespace

Result<std::unique_ptr<DoorbellPages>> DoorbellPages::create(std::uint32_t pages) {
  const std::uint64_t size = std::uint64_t{pages} * abi::kUarPageBytes;
  UniqueFd fd(::memfd_create("paravane-doorbells", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return io_error("cannot create the file");
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return io_error("cannot size the file");
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return io_error("cannot seal the file");
  return map(std::move(fd), size);
}

Result<std::unique_ptr<DoorbellPages>> DoorbellPages::adopt(UniqueFd file, std::uint32_t pages) {
  const std::uint64_t size = std::uint64_t{pages} * abi::kUarPageBytes;
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return io_error("cannot examine the file");
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || std::uint64_t(facts.st_size) != size) {
    return fail(Errc::kInvalidArgument, "doorbell pages: not a file of this adapter's");
  }
  return map(std::move(file), size);
}

Result<std::unique_ptr<DoorbellPages>> DoorbellPages::map(UniqueFd fd, std::uint64_t size) {
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return io_error("cannot map the file");
  return std::unique_ptr<DoorbellPages>(
      new DoorbellPages(std::move(fd), static_cast<std::byte*>(base), size));
}

DoorbellPages::~DoorbellPages() {
  ::munmap(base_, size_);
}

void DoorbellPages::clear(std::uint32_t page) {
  for (const std::uint32_t offset : {abi::kUarQpOffset, abi::kUarCqOffset, abi::kUarSrqOffset}) {
    static_cast<void>(take(page, offset));
  }
}

}  // namespace paravane::device
