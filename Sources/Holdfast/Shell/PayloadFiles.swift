import Foundation
import HoldfastCore
import HoldfastOwnerFiles
import HoldfastUploads

/// The files of payloads that wait to be uploaded, in a folder of a data directory, and the tickets
/// of their uploads.
///
/// Only their owner can read the files (0600). A file and its directory entry are durable before
/// the file is reported. Files are never changed.
struct PayloadFiles: Sendable {
  let root: String
  let folder: String
  /// The maximum size of a file.
  let maxBytes: Int

  /// Writes a body to a new file. Returns the path of the file, relative to the data directory.
  func write(_ bytes: [UInt8], as name: String) throws(StoreFailure) -> String {
    let path = path(name)
    let file = file(path)
    do throws(OwnerFileError) {
      try file.replace(with: bytes)
    } catch {
      // The file may exist without being durable.
      try? file.remove()
      throw StoreFailure(error, at: file.path)
    }
    return path
  }

  /// Returns the path of a file, relative to the data directory.
  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Returns the content of a file.
  ///
  /// - Throws: An error if the file does not exist or cannot be read.
  func read(_ path: String) throws(StoreFailure) -> [UInt8] {
    guard let bytes = try find(path) else { throw .denied(detail: missing(path)) }
    return bytes
  }

  /// Returns the content of a file, or `nil` if it does not exist.
  func find(_ path: String) throws(StoreFailure) -> [UInt8]? {
    let file = file(path)
    do throws(OwnerFileError) {
      return try file.read()
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  /// Returns a human-readable message that a file does not exist.
  func missing(_ path: String) -> String { "\(file(path).path) does not exist." }

  /// Deletes files. Files that cannot be deleted now are deleted at the next start.
  func delete(_ paths: [String]) {
    for path in paths {
      try? FileManager.default.removeItem(atPath: file(path).path)
      forgetTicket(of: path)
    }
  }

  /// Returns the ticket of an interrupted upload, or `nil` if there is no usable one.
  func ticket(of path: String) -> UploadTicket? {
    guard let bytes = try? ticketFile(path).read() else { return nil }
    return try? UploadTicket.read(bytes)
  }

  /// Stores the ticket of an upload. Without a ticket, an interrupted upload starts again and sends
  /// all bytes.
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

  /// Deletes files that belong to no payload. Returns the files of payloads that are missing.
  ///
  /// Nothing is deleted or reported as missing if the directory cannot be read.
  ///
  /// - Parameter time: The time before which a deleted file was last changed; `nil` for any time.
  func removeUnknown(_ named: Set<String>, before time: Timestamp? = nil) -> Set<String> {
    let directory = "\(root)/\(folder)"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch CocoaError.fileReadNoSuchFile {
      names = []
    } catch {
      return []
    }
    let found = Set(names.map(path))
    let tickets = named.map { $0 + Self.ticketEnd }
    let unknown = found.subtracting(named).subtracting(tickets)
    delete(Array(unknown).filter { path in time.map { changed(path) < $0 } ?? true })
    return named.subtracting(found)
  }

  /// Returns the time at which a file was last changed; the earliest time if it is gone.
  private func changed(_ path: String) -> Timestamp {
    let found = try? FileManager.default.attributesOfItem(atPath: file(path).path)
    guard let date = found?[.modificationDate] as? Date else { return Timestamp(nanoseconds: .min) }
    let seconds = min(max(date.timeIntervalSince1970, -9e9), 9e9)
    return Timestamp(nanoseconds: Int64(seconds * 1e9))
  }

  private func file(_ path: String) -> OwnerFile {
    OwnerFile("\(root)/\(path)", maxBytes: maxBytes, isSecret: false)
  }
}
