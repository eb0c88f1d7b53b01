/// All judges of a run.
struct Bench {
  init() {}
  mutating func see(_ happening: Happening, _ facts: Facts) {}
  mutating func conclude(_ facts: Facts) {}
  var findings: [Finding] { [] }
}
