public import HoldfastCore
import HoldfastJSON

/// The header of a backup, which is its first member.
///
/// The encoded form is `{"format":1,"program":"0.1.0","made_at":"…","stores":[{"file":"…",
/// "version":7}]}`. Unknown members are ignored.
public struct BackupHead: Sendable, Hashable {
  /// The format of the archives that this program writes, and the newest that it reads.
  public static let format = 1
  /// The maximum size of the encoded form in bytes.
  public static let maxBytes = 65_536
  /// The maximum number of stores.
  public static let mostStores = 100

  /// A store of the backup.
  public struct Store: Sendable, Hashable {
    /// The name of its file.
    public var file: String
    /// The version of its tables.
    public var version: Int

    /// Creates a value.
    public init(file: String, version: Int) {
      (self.file, self.version) = (file, version)
    }
  }

  /// The version of the program that made the backup.
  public var program: String
  /// The time at which the backup was begun.
  public var madeAt: Timestamp
  /// The stores; empty if they are in a PostgreSQL database.
  public var stores: [Store]

  /// Creates a value.
  public init(program: String, madeAt: Timestamp, stores: [Store]) {
    (self.program, self.madeAt, self.stores) = (program, madeAt, stores)
  }

  /// Returns the content of the member.
  public func encode() -> [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.entry("format", Self.format)
      $0.entry("program", program)
      $0.entry("made_at", RFC3339.format(madeAt))
      $0.array("stores") {
        for store in stores {
          $0.object {
            $0.entry("file", store.file)
            $0.entry("version", store.version)
          }
        }
      }
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  /// Reads the content of the member.
  ///
  /// - Parameter versions: The versions of tables that this program supports, by file.
  /// - Throws: `.newer` if only a newer program can read the archive, and `.foreign` if the member
  ///   is none of a backup.
  public static func decode(
    _ content: [UInt8], supporting versions: [String: Int]
  ) throws(BackupFault) -> BackupHead {
    let fields = JSONFields(content, keeping: ["format", "program", "made_at", "stores"])
    let (program, head): (String, BackupHead?)
    do throws(FieldFault) {
      try fields.check()
      program = try fields.string("program", atMost: 100)
      let found = try fields.int("format", in: 1...Int(Int32.max))
      head = found > format ? nil : try BackupHead(fields, program)
    } catch {
      throw .foreign(reason: "its \(BackupNames.head) is not valid: \(error)")
    }
    guard let head, head.stores.allSatisfy({ $0.version <= versions[$0.file] ?? 0 }) else {
      throw .newer(program: program)
    }
    return head
  }

  /// Reads the members of format 1.
  private init(_ fields: JSONFields, _ program: String) throws(FieldFault) {
    guard let time = RFC3339.parse(try fields.string("made_at", atMost: 100)) else {
      throw .badDate(field: "made_at")
    }
    self.init(program: program, madeAt: time, stores: try Self.stores(fields))
  }

  private static func stores(_ fields: JSONFields) throws(FieldFault) -> [Store] {
    var stores: [Store] = []
    for element in try fields.elements("stores", atMost: mostStores) {
      let fields = JSONFields(element, keeping: ["file", "version"])
      try fields.check()
      let file = try fields.string("file", atMost: BackupNames.maxBytes)
      guard BackupNames.isMember(file), !stores.contains(where: { $0.file == file }) else {
        throw .malformed(detail: "a store has an invalid name")
      }
      stores.append(Store(file: file, version: try fields.int("version", in: 1...Int(Int32.max))))
    }
    return stores
  }
}
