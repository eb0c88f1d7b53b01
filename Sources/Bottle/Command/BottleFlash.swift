import HoldfastBottleData
import HoldfastCommandKit
import HoldfastOwnerFiles

/// The flash memory of a virtual bottle, stored in a text file.
///
/// The file has one line for each record, and can have a last line with the next ID.
struct BottleFlash: Sendable {
  /// The content of the flash memory.
  struct Content: Sendable, Equatable {
    var records: [BottleRecord] = []
    /// The ID of the next record. If it is `nil`, the next ID follows the ID of the last record.
    var nextID: UInt32?
  }

  let path: String

  private var file: OwnerFile { OwnerFile(path, maxBytes: 1 << 20, isSecret: false) }

  /// Reads the file. The content is empty if the file does not exist.
  ///
  /// - Throws: A failure if the file cannot be read, or if a line is invalid. The failure then
  ///   names the line.
  func read() throws(CommandFailure) -> Content {
    let bytes: [UInt8]
    do throws(OwnerFileError) {
      bytes = try file.read() ?? []
    } catch {
      throw CommandFailure(.failed, "\(path): \(error)", remedy: "choose another --flash")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(BottleFlashError) {
      return try Content(text)
    } catch {
      throw CommandFailure(
        .failed, "\(path), line \(error.line) is not a valid record, or its id is too small",
        remedy: "choose another --flash")
    }
  }

  func write(_ content: Content) throws(CommandFailure) {
    do throws(OwnerFileError) {
      try file.replace(with: Array(content.text.utf8))
    } catch {
      throw CommandFailure(.failed, "\(path): \(error)", remedy: "choose another --flash")
    }
  }
}

/// An error with the number of the first line that cannot be read, counted from 1.
struct BottleFlashError: Error, Equatable {
  var line: Int
}

extension BottleFlash.Content {
  /// Parses the lines of a file. Each line has the six numbers of a record, and the IDs must
  /// increase.
  ///
  /// The last line may consist of `next` and an ID instead.
  init(_ text: String) throws(BottleFlashError) {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let fields = line.split(whereSeparator: \.isWhitespace)
      if fields.isEmpty { continue }
      let least = nextID ?? records.last.map { $0.id &+ 1 } ?? 0
      if fields.count == 2, fields[0] == "next", let id = UInt32(fields[1]), nextID == nil,
        id >= least
      {
        nextID = id
      } else if nextID == nil, let record = BottleRecord(fields), record.id >= least {
        records.append(record)
      } else {
        throw BottleFlashError(line: index + 1)
      }
    }
  }

  /// The content as lines of text.
  var text: String {
    let lines = records.map {
      "\($0.id) \($0.time) \($0.amount) \($0.level) \($0.kind) \($0.flags.rawValue)\n"
    }
    return lines.joined() + (nextID.map { "next \($0)\n" } ?? "")
  }
}

extension BottleRecord {
  fileprivate init?(_ fields: [Substring]) {
    guard fields.count == 6, let id = UInt32(fields[0]), let time = UInt32(fields[1]),
      let amount = Int16(fields[2]), let level = UInt16(fields[3]), let kind = UInt8(fields[4]),
      let flags = UInt8(fields[5])
    else { return nil }
    self.init(
      id: id, time: time, amount: amount, level: level, kind: kind, flags: Flags(rawValue: flags))
  }
}
