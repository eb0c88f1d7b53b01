import LinkHealth

/// A source of samples, and what is known of it without reading its name.
struct AnswerSource: Hashable {
  var source: String
  var device: String?
  /// The name that is told; `nil` if there is none.
  var name: String?
  /// 0 for a watch, 1 for a phone, 2 for another device, 3 for an app.
  var kind: Int

  private init(_ source: String, _ device: String?, _ kind: Int) {
    (self.source, self.device, self.kind) = (source, device, kind)
    name = source == " " ? device : source
  }

  static let all = [
    AnswerSource("Anna's Watch", nil, 0), AnswerSource("Watch", "iPhone", 0),
    AnswerSource("WATCH9", "Scale", 0), AnswerSource("Pods", "Apple Watch7,1", 0),
    AnswerSource("iPhone", nil, 1), AnswerSource("My Phone 2", nil, 1),
    AnswerSource("ipad", "", 1), AnswerSource("An iPod", "x", 1), AnswerSource("Pods", "IPHONE", 1),
    AnswerSource("Pods", "Air, Apple", 2), AnswerSource("Watches", "phones", 2),
    AnswerSource(" ", "Scale", 2), AnswerSource(" ", "Cuff", 2), AnswerSource("Pods", nil, 3),
    AnswerSource("Smartwatch", "", 3),
    AnswerSource("Watch\u{E9}", "12 34", 3), AnswerSource("merged", nil, 3),
    AnswerSource(" ", nil, 3), AnswerSource("Say \"phones\"", nil, 3), AnswerSource("zz", nil, 3),
  ]

  /// One whose name takes much of an answer's room.
  static let long = AnswerSource("Phone " + String(of: "x", count: 4_000), nil, 1)

  /// Those of one name, with different devices.
  static let pods = all.filter { $0.source == "Pods" }

  /// Finds the source of a sample.
  static func of(_ sample: HealthSample) -> AnswerSource {
    all.first { $0.source == sample.source && $0.device == sample.device }
      ?? AnswerSource(sample.source, sample.device, 1)
  }

  /// Returns whether it counts where both measure.
  func isBefore(_ other: AnswerSource) -> Bool {
    kind != other.kind ? kind < other.kind : (name ?? "") < (other.name ?? "")
  }

  /// Returns whether both are one series: of one name and one kind.
  func isLike(_ other: AnswerSource) -> Bool { name == other.name && kind == other.kind }
}
