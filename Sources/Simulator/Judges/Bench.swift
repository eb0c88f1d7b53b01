/// All judges.
public struct Bench: Judge {
  public private(set) var findings: [Finding] = []

  public init() {}
  public mutating func see(_ happening: Happening, _ facts: Facts) {}
  public mutating func conclude(_ facts: Facts) {}
}
