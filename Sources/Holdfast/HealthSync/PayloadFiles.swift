import Foundation
import LinkCore
import LinkStorage
import OwnerFiles

/// The files of batches that wait, below a data directory.
///
/// A file is for its owner only (0600), and is durable with its name before it is told. Its name is
/// new each time, so that a file is never changed.
struct PayloadFiles: Sendable {
  private let root: String
  private static let folder = "health-sync"
  /// Far more than a batch has.
  private static let maxBytes = 64 << 20

  /// Names the files of a data directory.
  init(in root: String) { self.root = root }

  /// Writes a body and returns the path of its file, relative to the data directory.
  func write(_ bytes: [UInt8]) throws(StoreFailure) -> String {
    var generator = SystemRandomNumberGenerator()
    let name = UUID128.random(using: &generator).description
    let path = "\(Self.folder)/batch_\(name).json"
    let file = file(path)
    do throws(OwnerFileError) {
      try file.replace(with: bytes)
    } catch {
      // It may be there without being durable.
      try? file.remove()
      throw StoreFailure(error, at: file.path)
    }
    return path
  }

  /// Returns the content of a file.
  ///
  /// - Throws: also if there is no such file.
  func read(_ path: String) throws(StoreFailure) -> [UInt8] {
    guard let bytes = try find(path) else { throw .denied(detail: missing(path)) }
    return bytes
  }

  /// Returns the content of a file; `nil` if there is no such file.
  func find(_ path: String) throws(StoreFailure) -> [UInt8]? {
    let file = file(path)
    do throws(OwnerFileError) {
      return try file.read()
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  /// That there is no such file, for people.
  func missing(_ path: String) -> String { "\(file(path).path) is not there." }

  /// Deletes files. One that cannot be deleted now is deleted at the next start.
  func delete(_ paths: [String]) {
    for path in paths {
      try? FileManager.default.removeItem(atPath: file(path).path)
      forgetTicket(of: path)
    }
  }

  /// Returns the ticket of an upload that was begun; `nil` if there is none that can be used.
  func ticket(of path: String) -> UploadTicket? {
    guard let bytes = try? ticketFile(path).read() else { return nil }
    return try? UploadTicket.read(bytes)
  }

  /// Keeps the ticket of an upload. Without it the upload begins anew, which costs its bytes.
  func keep(_ ticket: UploadTicket, of path: String) {
    try? ticketFile(path).replace(with: ticket.bytes)
  }

  /// Removes the ticket of an upload, if there is one.
  func forgetTicket(of path: String) {
    try? FileManager.default.removeItem(atPath: ticketFile(path).path)
  }

  private func ticketFile(_ path: String) -> OwnerFile {
    OwnerFile("\(root)/\(path)\(Self.ticketEnd)", maxBytes: 1 << 16, isSecret: false)
  }

  private static let ticketEnd = ".upload"

  /// Deletes the files that no batch names, and returns those that batches name and are missing. A
  /// directory that cannot be read says nothing about them.
  func tidy(_ named: Set<String>) -> Set<String> {
    let directory = "\(root)/\(Self.folder)"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch CocoaError.fileReadNoSuchFile {
      names = []
    } catch {
      return []
    }
    let found = Set(names.map { "\(Self.folder)/\($0)" })
    let tickets = named.map { $0 + Self.ticketEnd }
    delete(Array(found.subtracting(named).subtracting(tickets)))
    return named.subtracting(found)
  }

  private func file(_ path: String) -> OwnerFile {
    OwnerFile("\(root)/\(path)", maxBytes: Self.maxBytes, isSecret: false)
  }
}
