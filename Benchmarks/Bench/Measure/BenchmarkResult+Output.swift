import HoldfastCommandKit
import HoldfastJSON

extension BenchmarkResult {
  /// Returns the result as a human-readable table.
  func lines(_ style: Style) -> [String] {
    var table = Table("", benchmark.unit, "least", "most", "ratio", "aim")
    table.row(
      subject.name, figure(subject.median), figure(subject.values.min()),
      figure(subject.values.max()), "", "")
    if let obstacle = subject.obstacle { table.row("", "cannot run: \(obstacle)") }
    addCounts(of: subject, to: &table)
    for peer in peers {
      if let obstacle = peer.obstacle {
        table.row(peer.name, "cannot run: \(obstacle)")
        continue
      }
      let ratios = ratios(to: peer)
      let ratio =
        "\(figure(Statistics.median(ratios))) (\(figure(ratios.min()))-\(figure(ratios.max())))"
      table.row(
        peer.name, figure(peer.median), figure(peer.values.min()), figure(peer.values.max()), ratio,
        aim(of: peer))
      addCounts(of: peer, to: &table)
    }
    return ["", "\(benchmark.name): \(benchmark.question)"] + table.lines(style)
      + remarks
  }

  private var remarks: [String] {
    ([subject] + peers).compactMap { figures in
      figures.remark.map { "\(figures.name): \($0)" }
    }
  }

  private func addCounts(of figures: Figures, to table: inout Table) {
    for (name, values) in figures.beside {
      table.row(
        "  \(name)", figure(Statistics.median(values)), figure(values.min()), figure(values.max()),
        "", "")
    }
  }

  private func aim(of peer: Figures) -> String {
    guard let aim = peer.aim else { return "" }
    let sign = benchmark.better == .more ? ">=" : "<="
    let mark = reaches(peer).map { $0 ? " reached" : " MISSED" } ?? ""
    return "\(sign) \(figure(aim))\(mark)"
  }

  /// Formats a figure with three significant digits.
  private func figure(_ value: Double?) -> String {
    guard let value, value.isFinite else { return "-" }
    if value > 0, value < 0.0005 { return "<0.001" }
    if abs(value) >= 100 { return "\(Int(value.rounded()))" }
    let scale = abs(value) >= 10 ? 10.0 : abs(value) >= 1 ? 100 : 1000
    return "\((value * scale).rounded() / scale)"
  }

  /// Writes the result as JSON, from which `Benchmarks/table.py` creates the table in the docs.
  func write(to writer: inout JSONWriter) {
    for (key, text) in [
      ("benchmark", benchmark.name), ("question", benchmark.question), ("unit", benchmark.unit),
      ("better", benchmark.better.rawValue),
    ] {
      writer.key(key)
      writer.string(text)
    }
    writer.key("contenders")
    writer.beginArray()
    for figures in [subject] + peers {
      writer.beginObject()
      figures.write(to: &writer)
      writer.endObject()
    }
    writer.endArray()
  }
}

extension Figures {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.key("name")
    writer.string(name)
    write(values, as: "values", to: &writer)
    if let aim {
      writer.key("aim")
      writer.double(aim)
    }
    if let obstacle {
      writer.key("obstacle")
      writer.string(obstacle)
    }
    if let remark {
      writer.key("remark")
      writer.string(remark)
    }
    guard !beside.isEmpty else { return }
    writer.key("beside")
    writer.beginObject()
    for (name, values) in beside { write(values, as: name, to: &writer) }
    writer.endObject()
  }

  private func write(_ values: [Double], as key: String, to writer: inout JSONWriter) {
    writer.key(key)
    writer.beginArray()
    for value in values { writer.double(value) }
    writer.endArray()
  }
}
