#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Returns whether a host to listen on is this machine alone: `localhost`, 127.0.0.0/8 (RFC 1122
/// section 3.2.1.3) or ::1 (RFC 4291 section 2.5.3), however it is written.
func isLoopback(_ host: String) -> Bool {
  if host.lowercased() == "localhost" { return true }
  if let four = address(host, of: AF_INET) { return four.first == 127 }
  guard let six = address(host, of: AF_INET6) else { return false }
  return six.last == 1 && six.dropLast().allSatisfy { $0 == 0 }
}

/// Returns whether a host to listen on stands for every address of a family: `0.0.0.0` or `::`.
func isEveryAddress(_ host: String, of family: Int32) -> Bool {
  address(host, of: family)?.allSatisfy { $0 == 0 } ?? false
}

/// Returns the bytes of an address of a family; `nil` for a name or an address of another family.
private func address(_ host: String, of family: Int32) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: family == AF_INET6 ? 16 : 4)
  return unsafe inet_pton(family, host, &bytes) == 1 ? bytes : nil
}
