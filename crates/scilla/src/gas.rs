//! Gas: the meter, and the logarithms of the cost formulas.

use ruint::aliases::U256;

pub use crate::gas_unit::{Exhausted, UNITS_PER_GAS};
use crate::work::Work;

/// The remaining units of the interpreter, and the [`Work`] of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    left: u64,
    work: Work,
}

impl Meter {
    /// Returns a meter with this number of units, and without a limit of work.
    pub const fn with_units(left: u64) -> Self {
        Self { left, work: Work::UNLIMITED }
    }

    /// Returns a meter with a limit in gas, and without a limit of work.
    pub const fn with_limit(gas: u64) -> Self {
        Self::with_units(gas.saturating_mul(UNITS_PER_GAS))
    }

    /// Returns the meter with the work of earlier runs.
    #[must_use]
    pub const fn with_work(self, work: Work) -> Self {
        Self { work, ..self }
    }

    /// Returns the work that has been counted.
    pub const fn work(self) -> Work {
        self.work
    }

    /// Counts work before it is done.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if the work is above its limit. The meter then has no gas left.
    pub const fn spend(&mut self, work: u64) -> Result<(), Exhausted> {
        let done = self.work.spend(work);
        if done.is_err() {
            self.left = 0;
        }
        done
    }

    /// Counts work after it was done: see [`Work::record`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::spend`].
    pub const fn record(&mut self, work: u64) -> Result<(), Exhausted> {
        let done = self.work.record(work);
        if done.is_err() {
            self.left = 0;
        }
        done
    }

    /// Returns the work in nanoseconds that may be done before its gas is charged. It is the work that all remaining
    /// units permit.
    pub const fn left_before_charge(self) -> u64 {
        self.work.left_before(self.left)
    }

    /// Counts work that the run has done and that exceeds [`Self::left_before_charge`]. Sets the remaining gas to zero.
    pub const fn exceed_before_charge(&mut self, work: u64) -> Exhausted {
        let units = self.left;
        self.left = 0;
        self.work.exceed_before(work, units)
    }

    /// Ends the transaction because of work that was not done and is not counted: see [`Work::exceed`]. Sets the
    /// remaining gas to zero.
    pub const fn exceed(&mut self) -> Exhausted {
        self.left = 0;
        self.work.exceed()
    }

    /// Counts the load of a program of `bytes` bytes: see [`Work::load`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::spend`].
    pub const fn load(&mut self, bytes: u64, fresh: bool) -> Result<(), Exhausted> {
        let done = self.work.load(bytes, fresh);
        if done.is_err() {
            self.left = 0;
        }
        done
    }

    /// Charges units.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] in two cases. If fewer than `units` remain, the meter does not change. If the charge reaches a
    /// limit of work, the meter has no gas left.
    pub const fn charge(&mut self, units: u64) -> Result<(), Exhausted> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                let paid = self.work.pay(units);
                if paid.is_err() {
                    self.left = 0;
                }
                paid
            }
            None => Err(Exhausted),
        }
    }

    /// Charges units even if fewer remain, as the reference does for the checks of addresses and the version. Below
    /// zero, the number wraps around to the largest `u64`.
    pub const fn charge_unchecked(&mut self, units: u64) {
        self.left = self.left.wrapping_sub(units);
        // If this payment reaches a limit of work, the next charge fails.
        let _ = self.work.pay(units);
    }

    /// Returns the remaining units.
    pub const fn units(self) -> u64 {
        self.left
    }

    /// Returns the remaining gas in the report of a failed run, rounded down.
    pub const fn gas(self) -> u64 {
        self.left / UNITS_PER_GAS
    }

    /// Returns the remaining gas in the report of a successful run. At least one gas of the limit counts as used.
    pub const fn gas_of_success(self, limit: u64) -> u64 {
        let gas = self.gas();
        if gas == limit { limit.saturating_sub(1) } else { gas }
    }
}

/// Returns the logarithm of the gas formulas: `floor(ln(number + 1)) + 1`.
///
/// The reference computes the logarithm with double precision. `STEPS` has the numbers at which the result of the
/// reference reaches the next integer.
pub fn log(number: &U256) -> u64 {
    1 + STEPS.partition_point(|step| step <= number) as u64
}

/// Returns the natural logarithm of a number of entries, rounded down, or zero for no entries.
pub fn floor_ln(entries: u64) -> u64 {
    match entries.checked_sub(1) {
        Some(before) => log(&U256::from(before)) - 1,
        None => 0,
    }
}

/// The numbers at which [`log`] grows by one, in ascending order. They were derived with 120-digit arithmetic from the
/// method of the reference. That method uses double precision, and splits numbers above 128 bits into two halves. Up to
/// the 32nd, the numbers are e^k - 1, rounded up.
#[rustfmt::skip]
#[expect(clippy::unreadable_literal, reason = "64 bits of a power of e have no readable form")]
const STEPS: [U256; 177] = [
    U256::from_limbs([0x2, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x7, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x14, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x36, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x94, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x193, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x448, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xba4, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x1fa7, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x560a, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xe9e2, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x27bc2, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x6c02d, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x1259ac, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x31e199, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x87975e, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x1709348, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x3e9e441, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xaa36c7c, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x1ceb088b, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x4e9b87f6, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xd5ad6dce, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x244d5e676, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x62adfed51, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x10c3d39209, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x2d9264d2d4, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x7be08bdfd9, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x150bba37963, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x39355c8c638, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x9b823857614, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x1a6b765d8cdf, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x47d0ff312d98, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xc3379a5392bb, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x212a7c5e743dc, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x5a278886f2351, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xf510ad0e906ab, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x29a27f7634000a, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x712ccd185f312b, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x133a43d282a5058, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x34441a72f2e5a11, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x8e12e446fb42841, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x1823255820114180, 0x0, 0x0, 0x0]),
    U256::from_limbs([0x419ca8f27ae18201, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xb25a0e369bc0dc00, 0x0, 0x0, 0x0]),
    U256::from_limbs([0xe4cf766fe499f800, 0x1, 0x0, 0x0]),
    U256::from_limbs([0x25d9ef0120f3a001, 0x5, 0x0, 0x0]),
    U256::from_limbs([0xfe4a8f5c5dacc000, 0xd, 0x0, 0x0]),
    U256::from_limbs([0x9ad5d944a710001, 0x26, 0x0, 0x0]),
    U256::from_limbs([0x65c0422108da0001, 0x67, 0x0, 0x0]),
    U256::from_limbs([0x103e4080b3380000, 0x119, 0x0, 0x0]),
    U256::from_limbs([0x279a22889100001, 0x2fc, 0x0, 0x0]),
    U256::from_limbs([0xcb2947039dc00000, 0x81c, 0x0, 0x0]),
    U256::from_limbs([0x4f6fdac71a800001, 0x160d, 0x0, 0x0]),
    U256::from_limbs([0x8b5e2f7439000001, 0x3bf1, 0x0, 0x0]),
    U256::from_limbs([0x83b6b0b424000001, 0xa2f1, 0x0, 0x0]),
    U256::from_limbs([0x16a6e0d8b8000000, 0x1baed, 0x0, 0x0]),
    U256::from_limbs([0x7faf7863a0000001, 0x4b3ff, 0x0, 0x0]),
    U256::from_limbs([0x55f7e5a7c0000000, 0xcc8ce, 0x0, 0x0]),
    U256::from_limbs([0xb932a7a300000000, 0x22c068, 0x0, 0x0]),
    U256::from_limbs([0x7714f13a00000001, 0x5e76f2, 0x0, 0x0]),
    U256::from_limbs([0xd464087800000000, 0x100c810, 0x0, 0x0]),
    U256::from_limbs([0x298b823000000000, 0x2ba0127, 0x0, 0x0]),
    U256::from_limbs([0x3c41e2a000000001, 0x7695f7a, 0x0, 0x0]),
    U256::from_limbs([0xf597b88000000001, 0x1425982c, 0x0, 0x0]),
    U256::from_limbs([0x74bbf30000000000, 0x36c3cb94, 0x0, 0x0]),
    U256::from_limbs([0xfe7b0c0000000000, 0x94ddc12e, 0x0, 0x0]),
    U256::from_limbs([0xd6faf80000000000, 0x194a90db0, 0x0, 0x0]),
    U256::from_limbs([0x61b6a00000000001, 0x44bfb1d65, 0x0, 0x0]),
    U256::from_limbs([0xf1c0400000000001, 0xbae0ee234, 0x0, 0x0]),
    U256::from_limbs([0x3ac4800000000001, 0x1fbfd219c4, 0x0, 0x0]),
    U256::from_limbs([0x846a000000000001, 0x564db51386, 0x0, 0x0]),
    U256::from_limbs([0x3b0c000000000000, 0xea98ec53f7, 0x0, 0x0]),
    U256::from_limbs([0x9e70000000000000, 0x27db3a4945a, 0x0, 0x0]),
    U256::from_limbs([0x5160000000000000, 0x6c573f96db8, 0x0, 0x0]),
    U256::from_limbs([0xdb80000000000000, 0x1268038c2c0d, 0x0, 0x0]),
    U256::from_limbs([0x2b00000000000000, 0x320894e6a8ba, 0x0, 0x0]),
    U256::from_limbs([0xac00000000000000, 0x880155b10c58, 0x0, 0x0]),
    U256::from_limbs([0x2800000000000001, 0x171b3540cbf8f, 0x0, 0x0]),
    U256::from_limbs([0x5000000000000001, 0x3ecf33d538821, 0x0, 0x0]),
    U256::from_limbs([0x4000000000000001, 0xaabbcdcc279e0, 0x0, 0x0]),
    U256::from_limbs([0x8000000000000000, 0x1d01a210c44a69, 0x0, 0x0]),
    U256::from_limbs([0x1, 0x4ed8f6a3a447a2, 0x0, 0x0]),
    U256::from_limbs([0x1, 0xd6546b5808b414, 0x0, 0x0]),
    U256::from_limbs([0x1, 0x2469bd3c18e9890, 0x0, 0x0]),
    U256::from_limbs([0x0, 0x62fb1d40f291160, 0x0, 0x0]),
    U256::from_limbs([0x1, 0x10d0eda9796b6e80, 0x0, 0x0]),
    U256::from_limbs([0x0, 0x2db602308ee42f00, 0x0, 0x0]),
    U256::from_limbs([0x0, 0x7c415b71efc7be00, 0x0, 0x0]),
    U256::from_limbs([0x1, 0x51c2cc34337d6a00, 0x1, 0x0]),
    U256::from_limbs([0x1, 0x96211ff7d8255400, 0x3, 0x0]),
    U256::from_limbs([0x1, 0xbfbc04c8daae4400, 0x9, 0x0]),
    U256::from_limbs([0x1, 0x801c0ea8ac188400, 0x1a, 0x0]),
    U256::from_limbs([0x1, 0x91f31311a720040, 0x48, 0x0]),
    U256::from_limbs([0x0, 0xd02a9993ff1bfc00, 0xc3, 0x0]),
    U256::from_limbs([0x0, 0x467bdc9f332ffe00, 0x214, 0x0]),
    U256::from_limbs([0x1, 0xdfd56e0223200400, 0x5a6, 0x0]),
    U256::from_limbs([0x1, 0x3232202e6400010, 0xf5d, 0x0]),
    U256::from_limbs([0x0, 0x9267b2672ffffc0, 0x29c3, 0x0]),
    U256::from_limbs([0x1, 0x3f894c6022000100, 0x7185, 0x0]),
    U256::from_limbs([0x1, 0xa9b171bce8000400, 0x13494, 0x0]),
    U256::from_limbs([0x1, 0x3173b2ccd0000100, 0x346cf, 0x0]),
    U256::from_limbs([0x0, 0xc6060245bffffc00, 0x8e81e, 0x0]),
    U256::from_limbs([0x0, 0x6385c9437ffffe00, 0x183602, 0x0]),
    U256::from_limbs([0x0, 0xa6b23fedfffffc00, 0x41cfef, 0x0]),
    U256::from_limbs([0x0, 0x4b4f92cbfffffe00, 0xb2e570, 0x0]),
    U256::from_limbs([0x1, 0x639caaa800000200, 0x1e64a58, 0x0]),
    U256::from_limbs([0x0, 0xe6d433dffffffc00, 0x529dfd7, 0x0]),
    U256::from_limbs([0x0, 0x1d1455bfffffff80, 0xe093a25, 0x0]),
    U256::from_limbs([0x0, 0x2f1cbeffffffff00, 0x2627676d, 0x0]),
    U256::from_limbs([0x1, 0x79612a0000000200, 0x67b68e8c, 0x0]),
    U256::from_limbs([0x0, 0x5642f7fffffffe00, 0x119ebe56b, 0x0]),
    U256::from_limbs([0x1, 0x3369d00000000100, 0x2fe578dcb, 0x0]),
    U256::from_limbs([0x1, 0xf96f400000000400, 0x823223086, 0x0]),
    U256::from_limbs([0x0, 0xc4b97ffffffffc00, 0x161e8b490a, 0x0]),
    U256::from_limbs([0x1, 0x32ed000000000100, 0x3c206403e5, 0x0]),
    U256::from_limbs([0x1, 0x5664000000000200, 0xa370db1bdf, 0x0]),
    U256::from_limbs([0x1, 0xcc8000000000040, 0x1bc473cfede, 0x0]),
    U256::from_limbs([0x0, 0x81dffffffffffc00, 0x4b7ac6e7217, 0x0]),
    U256::from_limbs([0x1, 0x6e40000000000200, 0xcd2cc0e533e, 0x0]),
    U256::from_limbs([0x1, 0xd100000000000400, 0x22db9153decd, 0x0]),
    U256::from_limbs([0x0, 0x65fffffffffffe00, 0x5ec0c59a508b, 0x0]),
    U256::from_limbs([0x1, 0x6800000000000200, 0x10190be031508, 0x0]),
    U256::from_limbs([0x0, 0xaffffffffffffc00, 0x2bc22a5f3501d, 0x0]),
    U256::from_limbs([0x0, 0xdffffffffffffc00, 0x76f2a498fe112, 0x0]),
    U256::from_limbs([0x0, 0x7ffffffffffffe00, 0x143556dee93bc5, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x36ee98252cfb86, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x955218374914e5, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x195e54c5dd41e49, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x44f56c1e4a483a1, 0x0]),
    U256::from_limbs([0x0, 0x0, 0xbb72fa2674de841, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x1fd8a20c3cbf8681, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x5691277573298a01, 0x0]),
    U256::from_limbs([0x0, 0x0, 0xeb504338c9e7b401, 0x0]),
    U256::from_limbs([0x0, 0x0, 0x7fa602d93abf7000, 0x2]),
    U256::from_limbs([0x0, 0x0, 0xcabeadfdfefe6000, 0x6]),
    U256::from_limbs([0x0, 0x0, 0x766604b71d238000, 0x12]),
    U256::from_limbs([0x0, 0x0, 0x2faee508e4850001, 0x32]),
    U256::from_limbs([0x0, 0x0, 0x6b9facea44d40001, 0x88]),
    U256::from_limbs([0x0, 0x0, 0xd4407457bbf80000, 0x172]),
    U256::from_limbs([0x0, 0x0, 0x49d6c6753f00000, 0x3f0]),
    U256::from_limbs([0x0, 0x0, 0x13bbe52367c00000, 0xab4]),
    U256::from_limbs([0x0, 0x0, 0x4d3f8c3480800001, 0x1d18]),
    U256::from_limbs([0x0, 0x0, 0x95534e057e000000, 0x4f16]),
    U256::from_limbs([0x0, 0x0, 0xeb62fdd874000001, 0xd6fb]),
    U256::from_limbs([0x0, 0x0, 0x23cc17bd30000000, 0x24863]),
    U256::from_limbs([0x0, 0x0, 0x7f19dc3da0000001, 0x63487]),
    U256::from_limbs([0x0, 0x0, 0xfe2843cc80000001, 0x10de11]),
    U256::from_limbs([0x0, 0x0, 0x63918d1700000000, 0x2dd9bb]),
    U256::from_limbs([0x0, 0x0, 0xac8d2f0e00000000, 0x7ca276]),
    U256::from_limbs([0x0, 0x0, 0x982253e800000001, 0x152cac2]),
    U256::from_limbs([0x0, 0x0, 0x349df3b000000000, 0x398eea6]),
    U256::from_limbs([0x0, 0x0, 0xbeeec7c000000000, 0x9c75a73]),
    U256::from_limbs([0x0, 0x0, 0x9252d58000000000, 0x1a94d1e2]),
    U256::from_limbs([0x0, 0x0, 0xe52f5e0000000000, 0x48416b0d]),
    U256::from_limbs([0x0, 0x0, 0x538a9c0000000000, 0xc469321a]),
    U256::from_limbs([0x0, 0x0, 0x65a6f00000000000, 0x215e675eb]),
    U256::from_limbs([0x0, 0x0, 0x2421e00000000000, 0x5ab4a936b]),
    U256::from_limbs([0x0, 0x0, 0xaf0b400000000001, 0xf6904d024]),
    U256::from_limbs([0x0, 0x0, 0x9e0b000000000000, 0x29e3ac4477]),
    U256::from_limbs([0x0, 0x0, 0x505a000000000001, 0x71ddf71972]),
    U256::from_limbs([0x0, 0x0, 0xa868000000000001, 0x13585d21f52]),
    U256::from_limbs([0x0, 0x0, 0x9e10000000000001, 0x3495eba7733]),
    U256::from_limbs([0x0, 0x0, 0xc240000000000001, 0x8ef14b3f657]),
    U256::from_limbs([0x0, 0x0, 0xc880000000000001, 0x1848ee2cd9df]),
    U256::from_limbs([0x0, 0x0, 0x3600000000000000, 0x42035e6d855f]),
    U256::from_limbs([0x0, 0x0, 0x7c00000000000000, 0xb3713f4dcd55]),
    U256::from_limbs([0x0, 0x0, 0xa800000000000001, 0x1e7c66270c397]),
    U256::from_limbs([0x0, 0x0, 0xe000000000000000, 0x52de8e5ae2fe8]),
    U256::from_limbs([0x0, 0x0, 0x4000000000000001, 0xe143246c2d589]),
    U256::from_limbs([0x0, 0x0, 0x1, 0x264538b81a6a85]),
    U256::from_limbs([0x0, 0x0, 0x0, 0x68079bfd4bbd26]),
    U256::from_limbs([0x0, 0x0, 0x1, 0x11ac8383f35f768]),
    U256::from_limbs([0x0, 0x0, 0x1, 0x300ae74933ef890]),
    U256::from_limbs([0x0, 0x0, 0x1, 0x8297e2c2f4c3040]),
    U256::from_limbs([0x0, 0x0, 0x0, 0x162fd49a1e799f80]),
    U256::from_limbs([0x0, 0x0, 0x1, 0x3c4f6145f0cf7500]),
    U256::from_limbs([0x0, 0x0, 0x1, 0xa3f09605b420e400]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_steps_where_the_reference_steps() {
        let check = |number: &str, expected| assert_eq!(log(&number.parse().unwrap()), expected, "{number}");
        check("0", 1);
        check("1", 1);
        check("2", 2);
        check("6", 2);
        check("7", 3);
        check("10", 3);
        check("100", 5);
        check("11719142372802569", 37);
        check("11719142372802570", 38);
        check("74152073030340728382946098001638529565382337992042816689903571588881269653503", 177);
        check("74152073030340728382946098001638529565382337992042816689903571588881269653504", 178);
        assert_eq!(log(&U256::MAX), 178);
    }

    #[test]
    fn steps_ascend() {
        assert!(STEPS.is_sorted());
    }

    #[test]
    fn entries_are_counted_by_their_logarithm() {
        for (entries, expected) in [(0, 0), (1, 0), (2, 0), (3, 1), (7, 1), (8, 2), (10_000, 9)] {
            assert_eq!(floor_ln(entries), expected, "{entries}");
        }
    }

    #[test]
    fn a_charge_that_cannot_be_paid_is_not_taken() {
        let mut meter = Meter::with_units(5);
        assert_eq!(meter.charge(6), Err(Exhausted));
        assert_eq!(meter.units(), 5);
        assert_eq!(meter.charge(5), Ok(()));
        meter.charge_unchecked(1);
        assert_eq!(meter.units(), u64::MAX);
    }

    #[test]
    fn success_uses_at_least_one_gas() {
        assert_eq!(Meter::with_limit(10).gas_of_success(10), 9);
        assert_eq!(Meter::with_units(79).gas_of_success(10), 9);
        assert_eq!(Meter::with_units(71).gas_of_success(10), 8);
        assert_eq!(Meter::with_limit(0).gas_of_success(0), 0);
    }
}
