// What of a link is told a second time: see `Twin`.
extension HeldWorld {
  static var walks: [Walk] {
    []
  }
}
