import HoldfastCore

/// An SVG chart of several fleets: attempts per second above, connected clients below.
///
/// The document contains no script. It has a title and a description for screen readers,
/// distinguishes lines by dashes as well as by color, and adapts to a light or dark color scheme.
public struct HerdChart: Sendable {
  private let results: [HerdResult]
  private let panels: [Panel]
  private let top: Int

  /// A time interval and its location in the chart.
  struct Panel: Sendable {
    var seconds: Range<Int>
    var left: Double
    var width: Double

    func x(_ second: Int) -> Double {
      left + width * Double(second - seconds.lowerBound) / Double(max(1, seconds.count - 1))
    }
  }

  /// Creates a chart.
  ///
  /// - Parameter results: Results of the same plan. The line of the first result is the thickest.
  public init(_ results: [HerdResult]) {
    self.results = results
    panels = Self.panels(results)
    let most = results.map { $0.peak(of: { $0.tries }).count }.max() ?? 1
    var top = 10
    while top < most { top *= 10 }
    self.top = top
  }

  private static let left = 80.0
  private static let right = 940.0
  private static let upper = 96.0...356.0
  private static let lower = 416.0...576.0

  /// Returns one panel, or two panels: the first half minute, and the time after the server's
  /// return.
  private static func panels(_ results: [HerdResult]) -> [Panel] {
    let back = results.first?.firstOpenSecond ?? 0
    let last = results.map { $0.lastBackSecond }.max() ?? back
    let end = min(max(last + 3, back + 30), back + 1200)
    guard back > 60 else { return [Panel(seconds: 0..<end, left: left, width: right - left)] }
    let part = (right - left) * 0.3
    return [
      Panel(seconds: 0..<31, left: left, width: part),
      Panel(seconds: (back - 5)..<end, left: left + part + 40, width: right - left - part - 40),
    ]
  }

  /// The SVG document.
  public var svg: String {
    let parts = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 980 700\" role=\"img\" "
        + "aria-labelledby=\"title desc\">",
      "<title id=\"title\">\(Self.escaped(title))</title>",
      "<desc id=\"desc\">\(Self.escaped(description))</desc>",
      Self.style,
      "<rect class=\"paper\" width=\"980\" height=\"700\"/>",
      text(Self.left, 32, "head", title),
      text(Self.left, 54, "note", setting),
      text(Self.left, 84, "note", "tries to connect, per second (logarithmic)"),
      text(Self.left, 404, "note", "connected clients, %"),
      grid, lines, legend, "</svg>", "",
    ]
    return parts.joined(separator: "\n")
  }

  private var title: String {
    guard let first = results.first else { return "no herd" }
    return "\(first.name): \(HerdText.number(first.plan.clients)) clients after an outage of "
      + "\(first.plan.outage.length.text) (\(first.plan.outage.cause.rawValue))"
  }

  private var setting: String {
    results.first.map { HerdText.door($0.plan.door) } ?? ""
  }

  private var description: String {
    let each = results.map { result in
      let loss = HerdText.number(result.peak(of: { $0.tries }).count)
      let peak = HerdText.number(result.peak(of: { $0.tries }, from: result.firstOpenSecond).count)
      let back = result.time(untilBack: 1).map { "all back after \(HerdText.seconds($0))" }
      return
        "\(result.name): at most \(loss) tries in a second, \(peak) after the server's return, "
        + (back ?? "not all back") + "."
    }
    return ([setting + "."] + each).joined(separator: " ")
  }

  private static let style = """
    <style>
    .paper { fill: #ffffff } text { fill: #1b1f24; font: 13px system-ui, sans-serif }
    .head { font-size: 17px; font-weight: 600 } .note { fill: #4d5661 } .end { text-anchor: end }
    .mid { text-anchor: middle } .grid { stroke: #d5dae0; stroke-width: 1 }
    .open { stroke: #4d5661; stroke-width: 1; stroke-dasharray: 2 3 }
    polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round }
    .s0 { stroke: #0b57d0; stroke-width: 2.6 } .s1 { stroke: #b3261e; stroke-dasharray: 7 3 }
    .s2 { stroke: #8a5a00; stroke-dasharray: 2 3 }
    .s3 { stroke: #6b3fa0; stroke-dasharray: 9 3 2 3 }
    @media (prefers-color-scheme: dark) {
    .paper { fill: #14171a } text { fill: #e6e9ec } .note { fill: #a5adb6 }
    .grid { stroke: #353b42 } .open { stroke: #a5adb6 }
    .s0 { stroke: #8ab4f8 } .s1 { stroke: #f2b8b5 } .s2 { stroke: #f5c26b } .s3 { stroke: #cfb3f2 }
    }
    </style>
    """

  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case _: result.append(character)
      }
    }
  }
}

// The elements of the chart.
extension HerdChart {
  private var grid: String {
    var parts: [String] = []
    for panel in panels {
      parts += rows(of: panel)
      parts += columns(of: panel)
    }
    parts.append(
      text((Self.left + Self.right) / 2, 640, "note mid", "seconds since the outage began"))
    return parts.joined(separator: "\n")
  }

  private func rows(of panel: Panel) -> [String] {
    var parts: [String] = []
    var count = 1
    while count <= top {
      parts.append(line(panel.left, y(tries: count), panel.left + panel.width, y(tries: count)))
      if panel.left == Self.left {
        parts.append(
          text(panel.left - 8, y(tries: count) + 4, "note end", HerdText.number(count)))
      }
      count *= 10
    }
    for share in [0, 25, 50, 75, 100] {
      let y = y(share: Double(share) / 100)
      parts.append(line(panel.left, y, panel.left + panel.width, y))
      if panel.left == Self.left {
        parts.append(text(panel.left - 8, y + 4, "note end", "\(share)"))
      }
    }
    return parts
  }

  private func columns(of panel: Panel) -> [String] {
    let step = HerdText.step(for: panel.seconds.count, rows: panel.left == Self.left ? 6 : 10)
    var parts = panel.seconds.filter { $0 % step == 0 }.map { second in
      text(panel.x(second), Self.lower.upperBound + 22, "note mid", "\(second)")
    }
    let back = results.first?.firstOpenSecond ?? 0
    if back > 0, panel.seconds.contains(back) {
      parts.append(
        line(panel.x(back), Self.upper.lowerBound, panel.x(back), Self.lower.upperBound, "open"))
      parts.append(
        text(panel.x(back) + 4, Self.lower.upperBound + 40, "note", "the server is back"))
    }
    return parts
  }

  private var lines: String {
    results.indices.reversed().flatMap { index in
      panels.flatMap { panel in
        [
          curve(index, panel) { y(tries: results[index].count(of: { $0.tries }, in: $0)) },
          curve(index, panel) { y(share: results[index].share(connectedAfter: $0)) },
        ]
      }
    }.joined(separator: "\n")
  }

  private func curve(_ index: Int, _ panel: Panel, _ y: (Int) -> Double) -> String {
    let points = panel.seconds.map { "\(Self.short(panel.x($0))),\(Self.short(y($0)))" }
    return "<polyline class=\"s\(index % 4)\" points=\"\(points.joined(separator: " "))\"/>"
  }

  private var legend: String {
    results.indices.flatMap { index in
      let x = Self.left + 215 * Double(index)
      return [
        "<polyline class=\"s\(index % 4)\" points=\"\(x),676 \(x + 34),676\"/>",
        text(x + 42, 680, "", results[index].name),
      ]
    }.joined(separator: "\n")
  }

  private func y(tries: Int) -> Double {
    let height = Self.upper.upperBound - Self.upper.lowerBound
    guard tries > 0 else { return Self.upper.upperBound + height / 30 }
    return Self.upper.upperBound - height * HerdText.log10(tries) / HerdText.log10(top)
  }

  private func y(share: Double) -> Double {
    Self.lower.upperBound - (Self.lower.upperBound - Self.lower.lowerBound) * share
  }

  private func line(
    _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ kind: String = "grid"
  ) -> String {
    "<line class=\"\(kind)\" x1=\"\(Self.short(x1))\" y1=\"\(Self.short(y1))\" "
      + "x2=\"\(Self.short(x2))\" y2=\"\(Self.short(y2))\"/>"
  }

  private func text(_ x: Double, _ y: Double, _ kind: String, _ content: String) -> String {
    "<text class=\"\(kind)\" x=\"\(Self.short(x))\" y=\"\(Self.short(y))\">"
      + Self.escaped(content) + "</text>"
  }

  /// Formats a coordinate with one decimal, which is more precise than any screen.
  private static func short(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
