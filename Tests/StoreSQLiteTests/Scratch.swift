import Foundation
import LinkCore
import LinkWire
import Testing

/// A directory of its own for one test; removed when dropped.
final class Scratch: Sendable {
  let path: String

  init() throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    path = directory.path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
  }

  func mode(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    return try #require(attributes[.posixPermissions] as? Int)
  }
}

enum Sample {
  static func shop(_ name: String = "shop") throws -> ShopID { try #require(ShopID(name)) }

  static func message(_ number: UInt64, in shop: ShopID, text: String = "text") -> Message {
    Message(
      id: UUID128(high: 7, low: number), shop: shop, user: "user", username: "User", text: text,
      createdAt: Timestamp(nanoseconds: Int64(number) * 1_000))
  }
}

/// The kind of a failure without its text, which is for people.
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

/// Runs `body`, which must fail, and answers with how.
func failure<Value>(
  _ body: () async throws -> Value, at location: SourceLocation = #_sourceLocation
) async throws -> FailureKind {
  let error = await #expect(throws: StoreFailure.self, sourceLocation: location) {
    try await body()
  }
  return FailureKind(try #require(error, sourceLocation: location))
}
