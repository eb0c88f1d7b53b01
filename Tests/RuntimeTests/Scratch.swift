import Foundation

/// A directory of a test's own, gone with it.
final class Scratch: Sendable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "holdfast-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path()
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  func text(of name: String) throws -> String {
    try String(contentsOfFile: self(name), encoding: .utf8)
  }

  func bytes(of name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: self(name))))
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(filePath: self(name)))
  }

  func mode(of name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: self(name))[.posixPermissions] as? Int
  }
}
