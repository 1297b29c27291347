"""What the guess reads from the names of columns: those of public tables, and ordinary ones that mean no harm."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holdtrue.schema import guess

_NAMED = os.environ.get("HOLDTRUE_DATA")
DATA = Path(_NAMED) if _NAMED else Path(__file__).parents[3] / "shared" / "data"

NAMES = {
    "protected": """
        sex gender CODE_GENDER male female femalehead gndr blackfemale whitemale sexo Geschlecht
        race RACE racecd black nonwhite nwhite hispan HISPAN hisp afam african_american AfricanAmerican
        pacific_islander asian foreignborn YRIMMIG citizen applicant_race_1 derived_ethnicity
        relig religion union_member
        diabetes hiv_status HIV genotype comorbidities chronic_illness disability Schwerbehinderung vih cancer
        marr married marstat MARST evermarr ever_married yrsmarr ratemarr marital etat_civil etatCivil
        partner_status hasPartner situation_familiale Zivilstand estado_civil stato_civile NAME_FAMILY_STATUS
        single
        spouse_income nwifeinc husband_job huseduc huswage hushrs husage
        ndep numdep nodep dep deps dependents NumberOfDependents kidslt6 kidsge6 yngkid morekids kids nkids
        numKids dkids
        NCHILD CNT_CHILDREN CNT_FAM_MEMBERS family_members familyMembers FAMSIZE famsize fsize hh_size hhsize
        household_size Haushaltsgroesse PersonenImHaushalt nb_enfants nbEnfants cargas_familiares hijos figli
        people_liable taille_du_menage
        isSeniorCitizen
        age AGE agesq age2 agecat ageGroup CustomerAge customer_age cust_age Kundenalter Altersgruppe
        lebensalter
        mnthborn yearborn born60 birthyr brthord DAYS_BIRTH YearOfBirth dob annee_naissance fec_nac Geb_Datum""",
    "fixed": """
        unemp_rate unempRate IndUnemp ind_unemp cunem unem unemrate unemp Arbeitslosigkeit
        ArbeitslosigkeitRegion
        arbeitslosenquote taux_chomage tasa_desempleo fedfunds FedFundsRate tbill3m inflation cpi_index
        gdp_growth
        euribor3m emp.var.rate Leitzinssatz
        motheduc fatheduc meduc feduc Medu Fjob fathcoll mothcoll momdad14 sibs IQ parentEduc
        num_late_90 n_late late_30 late90 30DaysLate NumberOfTimes90DaysLate late_payments NumInqLast6M
        MaxDelqEver delinq_2yrs pub_rec chist mhist narr86 default prior_defaults c_charge_degree
        r_charge_degree
        chargeDegree juv_fel_count months_unemployed parole
        int_rate interest_rate interestRate APR Sollzinssatz taux_interet credit_limit LIMIT_BAL sub_grade
        occupation jobTitle emp_title Beruf profesion totalCharges total_paid lifetime_value
        smsa centcity northeast midwest south northcen west urban zip_code STATEFIP suburban""",
    "increase": """
        inc income applicantIncome appinc faminc lfaminc wage lwage salary lsalary AMT_INCOME_TOTAL
        Haushaltseinkommen haushalt_einkommen revenu_foyer ingresos_hogar Gehälter
        exper expersq tenure years_employed DAYS_EMPLOYED vehicle_age OWN_CAR_AGE AlterFahrzeug age_vehicule
        housingMedianAge educ hschool college fico_range_low creditScore SCHUFA_Score apport
        solde_compte Kontostand accountBalance Sparguthaben saldo_cuenta""",
    "decrease": "dti debt_to_income leverage endettement existing_loans bestehendeKredite usoCredito",
    "free": """
        manage manager salesman package usage mileage coverage average percentage image message mortgage storage
        voltage stage agency agent agenda management management_fee balance loan_amount loanamt
        purchase_price rent utilities website_visits page_views clicks orders
        basket_value
        discount coupon app_logins depth deposit depot department departure dep_delay dep_time
        temperature pressure humidity speed weight volume width color trace terrace embrace grace_period
        black_box_score nationwide_store relationship_length Total_Relationship_Count
        customer_relationship_score
        single_family_home single_payment minority_interest market_cap cap_rate
        health_plan HealthInsurance health_insurance Krankenversicherung assurance_sante kidney_size
        screening_score
        race_distance childproof whitespace blackjack_spend blacklist_check Schalter Verwaltungskosten zinc
        minor_repairs MonthlyCharges charges Contract TechSupport overtime BusinessTravel DistanceFromHome
        StockOptionLevel
        glucose bmi cholesterol smoker insulin BloodPressure SkinThickness
        inquilino macronutrients deficiency_balance
        lastLoginDaysAgo days_since_last_order unemployed is_unemployed polynomial_degree FLAG_OWN_CAR
        cigprice cigs packs beertax libcrd14 e401k p401k pira loanprc obrat hrat cosign
        gift colGPA hsGPA campus engineer senior car voluntr sqrft lotsize bdrms rooms salesPrice
        ceoten roe sales profits stratio LSAT attend frosh mtr lateral template latency related plateau""",
}  # fmt: skip
"""By what is told of a whole number of that name. Among them the tables of econometrics textbooks."""

PEOPLE = {
    "adult": ("age marital-status relationship race sex native-country", ""),
    "bail_nc_recidivism": ("WHITE MARRIED MALE AGE", "FELON PRIORS RECID"),
    "compas_two_years": (
        "sex age age_cat race",
        "juv_fel_count juv_misd_count juv_other_count priors_count is_recid c_charge_degree r_charge_degree "
        "vr_charge_degree is_violent_recid",
    ),
    "german_credit": ("personal_status_sex age foreign_worker people_liable", "credit_history purpose"),
    "give_me_some_credit": (
        "age NumberOfDependents",
        "NumberOfTime30-59DaysPastDueNotWorse NumberOfTimes90DaysLate NumberOfTime60-89DaysPastDueNotWorse",
    ),
    "heloc": (
        "",
        "MaxDelq2PublicRecLast12M MaxDelqEver NumInqLast6M NumInqLast6Mexcl7days PercentTradesNeverDelq",
    ),
    "california_housing": ("", "longitude latitude"),
    "default_credit_card": ("", ""),
    "cardiotocography": ("", ""),
    "sba_case_california": ("", "State BankState NAICS UrbanRural Recession"),
    "south_german_credit": ("personal_status_sex age foreign_worker people_liable", "credit_history purpose"),
    "student_mat": (
        "sex age famsize Pstatus", "failures Medu Fedu Mjob Fjob guardian address"
    ),
}  # fmt: skip
"""Of each table what is protected, all of it, and what else is fixed, at least."""


@pytest.mark.parametrize(("kind", "name"), [(kind, n) for kind, text in NAMES.items() for n in text.split()])
def test_a_name_is_read_as_people_mean_it(kind, name):
    values = np.random.default_rng(0).integers(1, 90, 120)
    feature = guess({name: values}).schema[name]
    assert ("protected" if feature.protected else feature.direction) == kind
    assert feature.direction == "fixed" or not feature.protected


def test_what_was_read_is_said():
    notes = guess({"blackfemale": [0, 1, 1], "num_late_90": [0, 3, 1]}).schema.notes
    assert "blackfemale: fixed and protected, because of its name: 'blackfemale' is about sex." in notes
    assert (
        "num_late_90: fixed, because of its name: 'num late' is about the past, which cannot be undone." in notes
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the data files: set HOLDTRUE_DATA to their directory")
@pytest.mark.parametrize("name", PEOPLE)
def test_public_tables_are_read_as_people_mean_them(name):
    frame = pd.read_csv(DATA / f"{name}.csv.gz", nrows=2000)
    protected, fixed = (set(text.split()) for text in PEOPLE[name])
    schema = guess(frame).schema
    assert {f.name for f in schema if f.protected} == protected
    assert {n for n in fixed if n in schema and schema[n].direction != "fixed"} == set()
