import Foundation
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

enum Sample {
  static func shop(_ name: String = "shop") throws -> ShopID { try #require(ShopID(name)) }

  static func message(_ number: UInt64, in shop: ShopID, text: String = "text") -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 7, low: number), shop: shop, user: "user", username: "User", text: text,
      createdAt: Timestamp(nanoseconds: Int64(number) * 1_000))
  }
}

/// The kind of a failure, without the human-readable text.
enum FailureKind: Equatable {
  case full, locked, corrupt, denied, other
  case fromTheFuture(Int, Int)

  init(_ failure: StoreFailure) {
    self =
      switch failure {
      case .full: .full
      case .locked: .locked
      case .corrupt: .corrupt
      case .fromTheFuture(let found, let supported): .fromTheFuture(found, supported)
      case .denied: .denied
      case .other: .other
      }
  }
}

/// Runs `body`, which must fail. Returns the kind of the failure.
func failure<Value>(
  _ body: () async throws -> Value, at location: SourceLocation = #_sourceLocation
) async throws -> FailureKind {
  let error = await #expect(throws: StoreFailure.self, sourceLocation: location) {
    try await body()
  }
  return FailureKind(try #require(error, sourceLocation: location))
}

extension Scratch {
  /// Whether this process can mount a small disk, as only Linux can.
  static var canMount: Bool {
    #if os(Linux)
      return geteuid() == 0
    #else
      return false
    #endif
  }

  /// Mounts a disk in memory on the folder. Cancels the test if that is not allowed.
  func mountDisk(size: String) throws {
    #if os(Linux)
      if unsafe mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0 { return }
    #endif
    try Test.cancel("mounting is not allowed here")
  }

  func unmountDisk() {
    #if os(Linux)
      unsafe umount2(path, Int32(MNT_DETACH))
    #endif
  }

  /// Creates the file `filler`, which fills the disk until only `left` bytes are free.
  func fillDisk(leaving left: Int) throws {
    var disk = statvfs()
    #expect(unsafe statvfs(path, &disk) == 0)
    let free = Int(disk.f_bavail) * Int(disk.f_frsize)
    try write([UInt8](repeating: 1, count: free - left), to: "filler")
  }
}
