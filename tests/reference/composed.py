"""Composed worlds in plain NumPy, from their definitions: client by client, with the uniform draws given."""

import math

import numpy as np
from scipy import stats


def markov(good, pi, memory, u):
    """Return the next state of a two-state chain, from its two transition probabilities."""
    up, down = (1 - memory) * pi, (1 - memory) * (1 - pi)
    return u < (1 - down if good else up)


def markov_chance(good, pi, memory):
    """Return the probability of the good state in the next round."""
    return 1 - (1 - memory) * (1 - pi) if good else (1 - memory) * pi


def shocked(rate, shock, own, common):
    """Return whether a client is on, if its region has the draw `common`."""
    if common < shock:
        return False
    return own < min(1.0, rate / (1 - shock))


def region(client, num_clients, regions):
    """Return the region of a client: neighbours, in regions of nearly equal size."""
    return client * regions // num_clients


def mirrored(x):
    """Return a number reflected at 0 and 1 until it lies between them."""
    while not 0 <= x <= 1:
        x = -x if x < 0 else 2 - x
    return x


def role(client, num_clients, classes, other):
    """Return the client of class `other` in the same place, or before it where there is none."""
    found = client // classes * classes + other
    return found if found < num_clients else found - classes


def factor(u, sigma):
    """Return a log-normal factor of mean 1."""
    return math.exp(sigma * stats.norm.ppf(u + 2.0**-24) - sigma**2 / 2)


def client_round(lucky, step_s, exchange_s, steps, deadline_s=None, partial=False):
    """Return whether a client is back, its number of steps, and the time for which the server waits for it."""
    if deadline_s is None:
        return lucky, steps, exchange_s + steps * step_s
    if partial:
        done = 0
        while done < steps and exchange_s + (done + 1) * step_s <= deadline_s:
            done += 1
        back = lucky and exchange_s <= deadline_s and (done > 0 or steps == 0)
    else:
        done, back = steps, lucky and exchange_s + steps * step_s <= deadline_s
    return back, done, exchange_s + done * step_s if back else deadline_s


def first_back(selected, back, latency, m):
    """Return the selected clients that count, the first m back, and the times for which the server waits."""
    order = sorted((i for i in range(len(latency)) if selected[i] and back[i]), key=lambda i: latency[i])
    waited = list(latency)
    if len(order) >= m:
        end = latency[order[m - 1]]
        waited = [min(one, end) for one in latency]
    return np.isin(np.arange(len(latency)), order[:m]), np.array(waited)


def in_time(mean_s, sigma, deadline_s):
    """Return P(J s <= D) for a log-normal factor J of mean 1."""
    return stats.lognorm.cdf(deadline_s / mean_s, s=sigma, scale=math.exp(-(sigma**2) / 2))


def expected_latency(mean_s, sigma, deadline_s, chance):
    """Return the mean wait for a client that is late or fails with the deadline, by a sum over quantiles of J."""
    u = (np.arange(20000) + 0.5) / 20000
    time = mean_s * np.exp(sigma * stats.norm.ppf(u) - sigma**2 / 2)
    return float(np.mean(np.where(time <= deadline_s, chance * time + (1 - chance) * deadline_s, deadline_s)))


def drifted(walked, span):
    """Return the factor of a client's times after a walk in logarithms, between the mirrors 1 / span and span."""
    place, log_span = -2 * math.log(span) * walked, math.log(span)
    while not -log_span <= place <= log_span:
        place = -2 * log_span - place if place < 0 else 2 * log_span - place
    return math.exp(place)


def label_weights(counts, by):
    """Return the weight of each label for one client with these numbers of images."""
    labels = range(len(counts))
    if sum(counts) == 0:
        return [1 / len(counts) for _ in labels]
    if by == "mix":
        return [many / sum(counts) for many in counts]
    chosen = [c for c in labels if counts[c] == max(counts)] if by == "main" else [c for c in labels if counts[c] > 0]
    return [float(c == chosen[0]) for c in labels]


def label_rate(counts, ends, by):
    """Return the rate of a client where rates of labels lie on a line from one end to the other."""
    last = len(counts) - 1
    of_label = [ends[0] + (ends[1] - ends[0]) * c / last for c in range(last + 1)]
    return sum(weight * rate for weight, rate in zip(label_weights(counts, by), of_label, strict=True))


def label_day(counts, by, low, high, hour, share=None):
    """Return the rate of a client at an hour, in days; `share`: of the day around a label's hour that is up."""
    rate = 0.0
    for c, weight in enumerate(label_weights(counts, by)):
        after = (hour - c / len(counts)) % 1.0
        if share is None:
            of_label = low + (high - low) * (1 + math.cos(2 * math.pi * after)) / 2
        else:
            of_label = high if share == 1 or min(after, 1 - after) < share / 2 else low
        rate += weight * of_label
    return rate
