import HoldfastJSON

extension HealthFreshness {
  package static let names = ["time_zone", "answered_at", "last_import", "last_samples"]
  /// The maximum number of types. The limit is Holdfast's own. An answer has at most eight types.
  private static let maxTypes = 64

  func write(to writer: inout JSONWriter) {
    writer.entry("time_zone", zone)
    writer.entry("answered_at", answered.description)
    writer.entry("last_import", imported?.description)
    writeLastSamples(to: &writer)
  }

  func writeLastSamples(to writer: inout JSONWriter) {
    guard !lastSamples.isEmpty else { return }
    writer.key("last_samples")
    writer.beginArray()
    for sample in lastSamples {
      writer.beginObject()
      writer.entry("type", sample.type)
      writer.entry("at", sample.at?.description)
      writer.endObject()
    }
    writer.endArray()
  }

  /// Reads the members of an answer. Returns `nil` if the answer has no freshness.
  init?(_ fields: JSONFields) throws(FieldFault) {
    guard fields.has("time_zone"), fields.has("answered_at") else { return nil }
    self.init(
      zone: try fields.string("time_zone", atMost: 256),
      answered: try fields.time("answered_at"),
      imported: fields.has("last_import") ? try fields.time("last_import") : nil, lastSamples: [])
    for element in try fields.elements("last_samples", atMost: Self.maxTypes) {
      let sample = JSONFields(element, keeping: ["type", "at"])
      guard sample.fault == nil else { throw .wrongType(field: "last_samples") }
      lastSamples.append(
        LastSample(
          type: try sample.string("type", atMost: 256),
          at: sample.has("at") ? try sample.time("at") : nil))
    }
  }
}

extension SleepTimes {
  func write(to writer: inout JSONWriter, as name: String = "sleep") {
    writer.key(name)
    writer.beginObject()
    for (name, minutes) in named {
      if let minutes { writer.writeNumber(name, minutes) }
    }
    writer.entry("nights", nights)
    writer.entry("naps", naps)
    if let napMinutes { writer.writeNumber("nap_minutes", napMinutes) }
    writer.endObject()
  }

  /// The minutes of each part, by its name.
  var named: [(String, Double?)] {
    [
      ("in_bed", inBed), ("awake", awake), ("light", light), ("deep", deep), ("rem", rem),
      ("unspecified", unspecified),
    ]
  }

  init(_ object: [UInt8]) throws(FieldFault) {
    let names = [
      "in_bed", "awake", "light", "deep", "rem", "unspecified", "nights", "naps", "nap_minutes",
    ]
    let fields = JSONFields(object, keeping: names)
    try fields.check()
    self.init(
      inBed: try fields.optionalDouble("in_bed"), awake: try fields.optionalDouble("awake"),
      light: try fields.optionalDouble("light"), deep: try fields.optionalDouble("deep"),
      rem: try fields.optionalDouble("rem"),
      unspecified: try fields.optionalDouble("unspecified"),
      nights: try fields.optionalInt("nights", in: 0...Int.max) ?? 0,
      naps: try fields.optionalInt("naps", in: 0...Int.max) ?? 0,
      napMinutes: try fields.optionalDouble("nap_minutes"))
  }
}

extension JSONFields {
  /// Returns the strings of an array, each truncated to 1,000 characters.
  func texts(_ name: String, atMost limit: Int) throws(FieldFault) -> [String] {
    var texts: [String] = []
    for element in try elements(name, atMost: limit) {
      var reader = JSONReader(element)
      guard let text = try? reader.string() else { throw .wrongType(field: name) }
      texts.append(text.bounded)
    }
    return texts
  }
}
