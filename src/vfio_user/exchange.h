// Exchange is the request of a VMM that is being dealt with, and its answer, in a file in memory
// that outlives this process. If the process is killed, another one reads there how far it came, so
// each request is answered once: not twice, which would end QEMU's connection, and not never.
//
// The kernel itself counts what was sent of an answer. sendfile() moves the offset of the file by
// the bytes that the socket has taken, in the same system call, so there is no moment at which a
// killed process has sent something and has not written it down.
//
// The other process does not trust the file, which a guest may have written to before. It finds
// numbers there that are checked, and bytes that go back to the VMM that the file belongs to.
//
// One file serves one VMM after the other. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

class Exchange {
 public:
  // How far the last request is.
  enum class Step : std::uint32_t {
    kDone,       // it is out of the socket
    kInHand,     // not answered
    kSending,    // by the file
    kUnknown,    // how much was sent is not known
    kTakingOut,  // it may be out of the socket
  };
  // Longer answers are not sent by the file.
  static constexpr std::size_t kMostAnswer = kMaxMessageBytes;

  // Errors: kIo, kResourceExhausted.
  static Result<Exchange> make();
  // That of a process that was killed. Errors: kInvalidArgument (this is no such file), kIo.
  static Result<Exchange> take_over(UniqueFd file);
  ~Exchange();
  Exchange(Exchange&& other) noexcept;
  Exchange& operator=(Exchange&&) = delete;

  int fd() const { return file_.get(); }

  // ---- The steps of a request ----
  // A VMM has connected: the one before it and its deaths are forgotten.
  void begin_client();
  void begin(const Header& request);
  // The answer is sent now, by send_rest(). REQUIRES: answer.size() <= kMostAnswer, and room_for().
  void answer(std::span<const std::byte> answer);
  // Whether the answer does not overwrite one that the VMM has not read.
  bool has_room_for(int socket, std::size_t bytes);
  // Bytes that the socket has taken; -1 with errno set. REQUIRES: step() is kSending.
  std::ptrdiff_t send_rest(int socket);
  // What was not sent. REQUIRES: step() is kSending.
  std::span<const std::byte> rest() const;
  // The answer is sent in another way.
  void answer_otherwise();
  // The request is answered, if it wants an answer, and is being taken out of the socket.
  void take_out();
  void done();

  // How many requests began. A state that is kept says of which it was the last.
  std::uint64_t serial() const;
  Step step() const;
  // The last one that began.
  Header request() const;

  // ---- What the file says of the process that was killed ----
  // The work that is done for a VMM is marked, so that the next process knows which VMM was served
  // when this one ended.
  void mark_turn(bool begins);
  bool was_in_turn() const;
  // How often a process ended that served this VMM, each time within kApart of the last.
  static constexpr Duration kApart = std::chrono::minutes(10);
  std::uint32_t deaths() const;
  void count_death(Instant now);
  // From this request on, the state that was kept last is too old.
  void set_needs(std::uint64_t serial);
  std::uint64_t needs() const;

 private:
  struct Page;
  Exchange(UniqueFd file, Page* page);
  static Result<Exchange> map(UniqueFd file);

  UniqueFd file_;
  Page* page_;  // the first page of the file; the answers follow
};

}  // namespace paravane::vfio_user
