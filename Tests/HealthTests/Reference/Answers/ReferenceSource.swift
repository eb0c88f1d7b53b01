import HoldfastHealthSamples

/// A source of samples, with its expected name and kind.
struct ReferenceSource: Hashable {
  var source: String
  var device: String?
  /// The name in answers, or `nil` if the source has none.
  var name: String?
  /// -1 for entries by hand, 0 for a watch, 1 for a phone, 2 for another device, 3 for an app.
  var kind: Int

  private init(_ source: String, _ device: String?, _ kind: Int) {
    (self.source, self.device, self.kind) = (source, device, kind)
    name = source == " " ? device : source
  }

  static let all = [
    ReferenceSource("Health", nil, -1), ReferenceSource("Santé", nil, -1),
    ReferenceSource("Health", "Scale", 2), ReferenceSource("My Health", nil, 3),
    ReferenceSource("Anna's Watch", nil, 0), ReferenceSource("Watch", "iPhone", 0),
    ReferenceSource("WATCH9", "Scale", 0), ReferenceSource("Pods", "Apple Watch7,1", 0),
    ReferenceSource("iPhone", nil, 1), ReferenceSource("My Phone 2", nil, 1),
    ReferenceSource("ipad", "", 1), ReferenceSource("An iPod", "x", 1),
    ReferenceSource("Pods", "IPHONE", 1),
    ReferenceSource("Pods", "Air, Apple", 2), ReferenceSource("Watches", "phones", 2),
    ReferenceSource(" ", "Scale", 2), ReferenceSource(" ", "Cuff", 2),
    ReferenceSource("Pods", nil, 3),
    ReferenceSource("Smartwatch", "", 3),
    ReferenceSource("Watch\u{E9}", "12 34", 3), ReferenceSource("merged", nil, 3),
    ReferenceSource(" ", nil, 3), ReferenceSource("Say \"phones\"", nil, 3),
    ReferenceSource("zz", nil, 3),
  ]

  /// A source whose name takes up much of an answer.
  static let long = ReferenceSource("Phone " + String(of: "x", count: 4_000), nil, 1)

  /// The sources that are named `Pods` and have different devices.
  static let pods = all.filter { $0.source == "Pods" }

  /// Returns the source of a sample.
  static func of(_ sample: HealthSample) -> ReferenceSource {
    all.first { $0.source == sample.source && $0.device == sample.device }
      ?? ReferenceSource(sample.source, sample.device, 1)
  }

  /// Returns whether this source has a higher rank than another source.
  func isBefore(_ other: ReferenceSource) -> Bool {
    kind != other.kind ? kind < other.kind : (name ?? "") < (other.name ?? "")
  }

  /// Returns whether both sources have the same name and kind, and so form one series.
  func isLike(_ other: ReferenceSource) -> Bool { name == other.name && kind == other.kind }
}
