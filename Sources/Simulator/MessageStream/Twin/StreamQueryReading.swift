import LinkCore
import LinkWire

/// How a server reads the parameters of a query, told a second time.
struct StreamQueryReading {
  /// What is asked for; `nil` if the parameters are no query.
  let query: PageQuery?

  init(_ parameters: [(String, String)]) {
    var values: [String: String] = [:]
    var isGood = true
    for (name, value) in parameters where PageQuery.parameterNames.contains(name) {
      if values.updateValue(value, forKey: name) != nil { isGood = false }
    }
    let limit = Self.number(values["limit"] ?? "20", from: 1, to: 100)
    let page = Self.number(values["page"] ?? "1", from: 1, to: 1_000_000_000)
    let ways = ["since", "after", "before"].filter { values[$0] != nil }
    guard isGood, let limit, let page, ways.count < 2 else {
      query = nil
      return
    }
    let word = ways.first.flatMap { values[$0] } ?? ""
    let place = values["page"] == nil ? StreamReading.position(word) : nil
    switch ways.first {
    case nil: query = .page(number: page, limit: limit)
    case "since": query = RFC3339.parse(word).map { .since($0, page: page, limit: limit) }
    case "after": query = place.map { .after($0, limit: limit) }
    case _: query = place.map { .before($0, limit: limit) }
    }
  }

  private static func number(_ text: String, from first: Int, to last: Int) -> Int? {
    guard !text.isEmpty, text.allSatisfy({ "0123456789".contains($0) }) else { return nil }
    return Int(text).flatMap { $0 < first || $0 > last ? nil : $0 }
  }
}
