import HoldfastCore
import HoldfastJSON

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
