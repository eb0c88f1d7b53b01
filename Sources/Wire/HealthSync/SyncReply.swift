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

/// A namespace for the other answers of the sync endpoints.
public enum SyncReply {
  /// The body of the answer to `GET /api/sync` without a secret.
  public static let ready = object {
    $0.entry("status", "ok")
    $0.entry("endpoint", "sync")
  }

  /// Returns the body of the answer to a refresh, with the time that it took.
  public static func refreshed(in time: Duration) -> [UInt8] {
    object {
      $0.entry("success", true)
      $0.entry("refreshedIn", time.nanoseconds / 1_000_000)
    }
  }

  /// Returns the body of a refusal, with a fixed message and the details of this refusal.
  public static func error(_ text: String, details: String? = nil) -> [UInt8] {
    object {
      $0.entry("error", text)
      if let details { $0.entry("details", details) }
    }
  }

  /// Returns whether the body of an answer with a success status confirms that the request was
  /// carried out.
  ///
  /// It does so if it is empty or an object with `"success":true`. Servers that catch their errors
  /// send `false`.
  public static func isSuccess(_ body: [UInt8]) -> Bool {
    guard !body.isEmpty else { return true }
    let fields = JSONFields(body, keeping: ["success"])
    guard fields.fault == nil else { return false }
    return (try? fields.optionalBool("success")) == true
  }

  /// Returns whether the body of an answer contains `"success":false`, regardless of the status.
  public static func isDenied(_ body: [UInt8]) -> Bool {
    (try? JSONFields(body, keeping: ["success"]).optionalBool("success")) == false
  }

  /// Returns the human-readable reason in a refusal, or `nil` if there is none.
  public static func reason(of body: [UInt8]) -> String? {
    let fields = JSONFields(body, keeping: ["error", "details", "message"])
    let found = ["details", "error", "message"].lazy.compactMap { name in
      (try? fields.optionalString(name)).flatMap(\.self)
    }
    return found.first.map { String($0.unicodeScalars.prefix(1_000)) }
  }

  private static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(capacity: 100)
    writer.object(members)
    return writer.bytes
  }
}
