import LinkCore
import LinkHealth

// Times, and what nothing changes.
extension HealthWordsWalk {
  /// Compares what nothing says with what must be.
  mutating func tryBlanks() {
    compareBounds(HealthObject.maxBytes, HealthDataQuery.byteBounds, SummaryQuery.maxMetrics)
    compareCounts([blanks.sleep.nights, blanks.sleep.naps, blanks.workout.sessions])
    for text in ["a", String(of: "a", count: 1_001), String(repeating: "é", count: 501)] {
      compareBeginning(text.bounded, of: text)
    }
  }

  mutating func compareBounds(_ longest: Int, _ lengths: ClosedRange<Int>, _ metrics: Int) {
    compare("the longest object", longest, 8_388_608)
    compare("the lengths to ask for", lengths, 2_000...8_388_608)
    compare("the most metrics", metrics, 64)
  }

  mutating func compareCounts(_ found: [Int]) { compare("blank counts", found, [0, 0, 0]) }

  mutating func compareBeginning(_ found: String, of text: String) {
    compare("the beginning of a text", found, HealthWordsFields.short(text))
  }

  // Times.

  mutating func tryTime() {
    let text = timeText()
    readTime(text)
    var letters = Array(happens(3) ? one(Self.edges) : text)
    readTime(String(letters))
    let place = number(0...letters.count - 1)
    switch number(0...3) {
    case 0: letters[place] = one(Array("0123456789:-+TZ./x "))
    case 1: letters.remove(at: place)
    case 2: letters.insert(one(Array("0159:- Z")), at: place)
    case _: letters = Array(letters[..<place])
    }
    readTime(String(letters))
    let time = time()
    compareTime(time, time.description, HealthTime(time.description))
    if case .local(let civil) = time { compareCivil(civil.description, of: civil) }
  }

  /// Compares what is written of a time, and what is read of that.
  mutating func compareTime(_ time: HealthTime, _ text: String, _ again: HealthTime?) {
    compare("a time", text, HealthWordsTimes.text(time))
    compare("\(time), read again,", again, time)
  }

  mutating func compareCivil(_ text: String, of time: CivilTime) {
    compare("a time of day", text, HealthWordsTimes.text(time))
  }

  mutating func readTime(_ text: String) {
    let must = HealthWordsTimes.time(text)
    let bytes = Array("[\(text)]".utf8).dropFirst().dropLast()
    compareReading([HealthTime(text), HealthTime(utf8: bytes)], must, of: text)
    guard must == nil else { return }
    compareFault(HealthTime.Fault(text), of: text)
  }

  /// Compares what is read of a text, and of its bytes.
  mutating func compareReading(_ found: [HealthTime?], _ must: HealthTime?, of text: String) {
    compare("\(text), read,", found, [must, must])
  }

  mutating func compareFault(_ found: HealthTime.Fault, of text: String) {
    compare("why \(text) is no time", found, HealthWordsTimes.fault(text))
  }
}
