public import BottleFirmware

/// The flash of a virtual bottle.
public struct ArrayStorage: RecordStorage, Sendable, Hashable {
  private var records: [HashableRecord]

  private struct HashableRecord: Sendable, Hashable {
    var record: DrinkRecord

    func hash(into hasher: inout Hasher) { hasher.combine(record.id) }
  }

  /// Empty flash.
  public init(capacity: Int) {
    records = Array(repeating: HashableRecord(record: .blank), count: capacity)
  }

  public var capacity: Int { records.count }

  /// Accesses the record at a place, 0 to `capacity - 1`.
  public subscript(place: Int) -> DrinkRecord {
    get { records[place].record }
    set { records[place].record = newValue }
  }
}
