import HoldfastCore
public import HoldfastJSON

/// The numbers of new, duplicate and refused records and workouts in a batch.
public struct IngestCounts: Sendable, Hashable, Codable {
  /// The number of new records.
  public var records: Int
  /// The number of new workouts.
  public var workouts: Int
  /// The number of records and workouts that were already stored.
  public var skippedDuplicates: Int
  /// The number of records and workouts that were refused because a newer batch deletes or contains
  /// them.
  public var refused: Int

  /// Creates counts. By default, all are 0.
  public init(
    records: Int = 0, workouts: Int = 0, skippedDuplicates: Int = 0, refused: Int = 0
  ) {
    self.records = records
    self.workouts = workouts
    self.skippedDuplicates = skippedDuplicates
    self.refused = refused
  }

  /// The body of the answer.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 80)
    writer.object {
      $0.entry("success", true)
      $0.object("inserted") {
        $0.entry("records", records)
        $0.entry("workouts", workouts)
      }
      $0.entry("skippedDuplicates", skippedDuplicates)
      if refused > 0 { $0.entry("refused", refused) }
    }
    return writer.bytes
  }

  /// Reads the body of an answer with status 200.
  ///
  /// - Throws: An error if the body does not confirm that the batch was stored.
  public static func read(_ body: [UInt8]) throws(FieldFault) -> IngestCounts {
    let fields = JSONFields(
      body, keeping: ["success", "inserted", "skippedDuplicates", "refused"])
    try fields.check()
    guard try fields.optionalBool("success") == true else { throw .missing(field: "success") }
    let inserted = JSONFields(try fields.object("inserted"), keeping: ["records", "workouts"])
    return IngestCounts(
      records: try inserted.int("records", in: 0...Int.max),
      workouts: try inserted.int("workouts", in: 0...Int.max),
      skippedDuplicates: try fields.int("skippedDuplicates", in: 0...Int.max),
      refused: try fields.optionalInt("refused", in: 0...Int.max) ?? 0)
  }
}
