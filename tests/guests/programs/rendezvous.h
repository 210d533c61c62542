// Rendezvous: the TCP connection over which the two ends of a guest program
// agree on what they do next. Blocking; any failure ends the program with a
// text, since a test program has nothing better to do.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace guest {

[[noreturn]] void die(const std::string& what);

class Rendezvous {
 public:
  static Rendezvous serve(std::uint16_t port);                              // accepts one client
  static Rendezvous reach(const std::string& address, std::uint16_t port);  // tries for 20 s

  ~Rendezvous();
  Rendezvous(Rendezvous&& other) noexcept;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  template <typename T>
  void tell(const T& value) {
    write_all(&value, sizeof value);
  }
  // Whether hear() would not have to wait.
  bool is_telling() const;
  template <typename T>
  T hear() {
    T value;
    read_all(&value, sizeof value);
    return value;
  }

 private:
  explicit Rendezvous(int fd) : fd_(fd) {}
  void write_all(const void* from, std::size_t size);
  void read_all(void* to, std::size_t size);
  int fd_;
};

}  // namespace guest
